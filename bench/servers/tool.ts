/** The one tool that every measured server has, and its server's name. */

export const serverInfo = { name: "bench", version: "1.0.0" } as const;

export const toolName = "echo";

export const toolResult = {
  content: [
    {
      type: "text" as const,
      text: "A line of text of the length that a small tool may well answer with: a hundred characters or so.",
    },
  ],
};

export const protocolVersion = "2025-11-25";

export const initializeResult = {
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo,
};

/** For the servers that are written by hand. */
export function resultOf(method: string): object {
  return method === "initialize" ? initializeResult : toolResult;
}
