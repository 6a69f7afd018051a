/** An SDK server as the SDK's documentation serves it: a transport for each session, in a table. */
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import express from "express";

function buildMcpServer() {
  const server = new McpServer({ name: "greeter", version: "1.0.0" });
  server.registerTool("greet", { description: "Says hello" }, () => ({
    content: [{ type: "text", text: "Hello." }],
  }));
  return server;
}

const app = express();
app.use(express.json());
const transports = new Map<string, StreamableHTTPServerTransport>();
app.all("/mcp", async (req, res) => {
  const id = req.headers["mcp-session-id"];
  let transport = typeof id === "string" ? transports.get(id) : undefined;
  if (transport === undefined && id === undefined && isInitializeRequest(req.body)) {
    const opened = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (sessionId) => void transports.set(sessionId, opened),
    });
    opened.onclose = () => transports.delete(opened.sessionId ?? "");
    await buildMcpServer().connect(opened as never);
    transport = opened;
  }
  if (transport === undefined) return void res.status(404).end();
  await transport.handleRequest(req, res, req.body);
});
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log("MCP on", server.address());
});
