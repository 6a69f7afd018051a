/** An SDK server on node:http, with sessions that survive disconnects and restarts. */
import { createServer } from "node:http";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import { buildMcpServer } from "./build-server.ts";
import { dbFile, port, ready } from "./settings.ts";

const sessions = createSessionHandler({
  log: sqliteLog(dbFile),
  createServer: () => buildMcpServer(),
  options: { path: "/mcp" },
});
const server = createServer(sessions.node);
server.listen(port, "127.0.0.1", () => ready(server.address()));
