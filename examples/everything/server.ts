/**
 * The everything server behind Holdfast's sessions:
 *
 *     node --conditions=holdfast-source examples/everything/server.ts     (PORT=3000 by default; 0 for a free one)
 *
 * Prints its URL when it is ready.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryLog } from "@holdfast/log";
import { createSessionHandler } from "@holdfast/server";
import { buildEverythingServer } from "./build-server.ts";

const sessions = createSessionHandler({
  log: memoryLog(),
  createServer: () => buildEverythingServer(),
  options: { path: "/mcp" },
});
const server = createServer(sessions.node);
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`MCP on http://127.0.0.1:${port}/mcp`);
});
process.once("SIGTERM", () => {
  server.close();
  void sessions.close().then(() => server.closeAllConnections());
});
