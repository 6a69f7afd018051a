/** The official SDK, version 2: its session transport for Node with an event store in memory. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { type JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";
import { serveMeasured } from "../serve-measured.ts";
import { memoryEventStore } from "./memory-event-store.ts";
import { serverInfo, toolName, toolResult } from "./tool.ts";

const transports = new Map<string, NodeStreamableHTTPServerTransport>();

async function openSession(): Promise<NodeStreamableHTTPServerTransport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: memoryEventStore<JSONRPCMessage>(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  const server = new McpServer(serverInfo);
  server.registerTool(toolName, { description: "Answers" }, () => toolResult);
  await server.connect(transport);
  return transport;
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const id = req.headers["mcp-session-id"];
  const known = typeof id === "string" ? transports.get(id) : undefined;
  const transport = known ?? (await openSession());
  await transport.handleRequest(req, res);
}

serveMeasured((req, res) => void handle(req, res));
