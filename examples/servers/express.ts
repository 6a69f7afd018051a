/** The same in Express 5. Mounted before any body parser: the runtime reads the body itself. */
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import express from "express";
import { buildMcpServer } from "./build-server.ts";
import { dbFile, port, ready } from "./settings.ts";

const sessions = createSessionHandler({
  log: sqliteLog(dbFile),
  createServer: () => buildMcpServer(),
});
const app = express();
app.all("/mcp", sessions.node);
const server = app.listen(port, "127.0.0.1", () => ready(server.address()));
