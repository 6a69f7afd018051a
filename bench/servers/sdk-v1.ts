/** The official SDK, version 1: its session transport with the event store of its examples. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { serveMeasured } from "../serve-measured.ts";
import { memoryEventStore } from "./memory-event-store.ts";
import { serverInfo, toolName, toolResult } from "./tool.ts";

const transports = new Map<string, StreamableHTTPServerTransport>();

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: memoryEventStore<JSONRPCMessage>(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  const server = new McpServer(serverInfo);
  server.registerTool(toolName, { description: "Answers" }, () => toolResult);
  // Its own types do not agree where `undefined` and absence are told apart.
  await server.connect(transport as Transport);
  return transport;
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const id = req.headers["mcp-session-id"];
  const known = typeof id === "string" ? transports.get(id) : undefined;
  const transport = known ?? (await openSession());
  await transport.handleRequest(req, res);
}

serveMeasured((req, res) => void handle(req, res));
