/** The same server, its sessions kept by Holdfast. */
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionHandler } from "@holdfast/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import express from "express";

function buildMcpServer() {
  const server = new McpServer({ name: "greeter", version: "1.0.0" });
  server.registerTool("greet", { description: "Says hello" }, () => ({
    content: [{ type: "text", text: "Hello." }],
  }));
  return server;
}

const sessions = createSessionHandler({
  log: sqliteLog(process.env["DB"] ?? "./sessions.db"),
  createServer: () => buildMcpServer(),
});
const app = express();
app.all("/mcp", sessions.node);
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log("MCP on", server.address());
});
