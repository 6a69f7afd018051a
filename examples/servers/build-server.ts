/** The MCP server of the examples: one tool that counts, slowly, and says so. */
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

export function buildMcpServer(): McpServer {
  const server = new McpServer({ name: "counter", version: "1.0.0" });
  const inputSchema = { to: z.number().int().min(1).max(100).default(3) };
  server.registerTool(
    "count",
    { description: "Counts, ten a second", inputSchema },
    async ({ to }, { _meta, sendNotification }) => {
      for (let progress = 1; progress <= to; progress++) {
        await sleep(100);
        const progressToken = _meta?.progressToken;
        if (progressToken === undefined) continue;
        const params = { progressToken, progress, total: to };
        await sendNotification({ method: "notifications/progress", params });
      }
      return { content: [{ type: "text", text: `Counted to ${to}.` }] };
    },
  );
  return server;
}
