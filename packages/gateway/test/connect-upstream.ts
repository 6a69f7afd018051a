/** An HTTP MCP server that answers as a test says, and notes what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onDispose, type RpcMessage, type Signal, signal } from "@holdfast/testkit";

export interface Asked {
  /** Of HTTP. */
  readonly verb: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: RpcMessage | undefined;
}

/** @returns false: answer as a well-behaved server would */
export type Answer = (asked: Asked, response: ServerResponse) => boolean;

export interface ScriptedUpstream {
  readonly url: string;
  readonly asked: Asked[];
  readonly onAsked: Signal<Asked>;
  /** Take no connections from now on. */
  close(): Promise<void>;
}

/** Knows nothing of the resume contract, and offers no standalone stream. */
export async function scriptedUpstream(answer: Answer): Promise<ScriptedUpstream> {
  const asked: Asked[] = [];
  const onAsked = signal<Asked>("request");
  let sessions = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const message = text === "" ? undefined : (JSON.parse(text) as RpcMessage);
    const one: Asked = { verb: request.method ?? "", headers: request.headers, message };
    asked.push(one);
    if (!answer(one, response)) behave(one, response, () => `session-${++sessions}`);
    onAsked.emit(one);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onDispose(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, asked, onAsked, close };
}

export function json(response: ServerResponse, status: number, value: object, headers = {}): true {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
  return true;
}

function behave({ verb, message }: Asked, response: ServerResponse, nextSession: () => string) {
  if (verb === "GET") return response.writeHead(405).end();
  if (verb === "DELETE") return response.writeHead(204).end();
  const { id, method } = message ?? {};
  if (id === undefined || method === undefined) return response.writeHead(202).end();
  if (method !== "initialize") return json(response, 200, { jsonrpc: "2.0", id, result: {} });
  const result = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "scripted", version: "1" },
  };
  const headers = { "mcp-session-id": nextSession() };
  return json(response, 200, { jsonrpc: "2.0", id, result }, headers);
}
