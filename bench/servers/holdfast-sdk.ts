/** The server of SDK version 1 behind Holdfast's sessions, with its SQLite log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { serveMeasured } from "../serve-measured.ts";
import { serverInfo, toolName, toolResult } from "./tool.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const sessions = createSessionHandler({
  log: sqliteLog(join(directory, "sessions.db")),
  createServer: () => {
    const server = new McpServer(serverInfo);
    server.registerTool(toolName, { description: "Answers" }, () => toolResult);
    return server;
  },
  options: { path: "/mcp" },
});
await sessions.ready();

serveMeasured(sessions.node, {
  close: async () => {
    await sessions.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
