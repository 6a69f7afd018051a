/**
 * A process that serves the tools of the demo, and nothing else: over stdio, for `holdfast serve`;
 * or over HTTP, by the stock SDK alone.
 *
 *     node tool-process.ts SETTINGS_AS_JSON
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ringEventStore } from "./ring-event-store.ts";
import { buildToolServer, type ToolSettings } from "./tools.ts";

/** What the stock server keeps its events in: nothing is the SDK's default. */
export type StockStore =
  | { readonly kind: "none" | "sample" }
  | { readonly kind: "ring"; readonly eventsMax: number };

export interface ToolProcessSettings extends ToolSettings {
  readonly face: { readonly kind: "stdio" } | HttpFace;
}

export interface HttpFace {
  readonly kind: "http";
  /** 0 is a free one. */
  readonly port: number;
  readonly store: StockStore;
}

// Whatever ends the holder of this pipe ends its servers too, in the middle of a call as well.
process.stdin.resume().on("end", () => process.exit(0));
const settings = JSON.parse(process.argv[2] ?? "{}") as ToolProcessSettings;
if (settings.face.kind === "http") serveHttp(settings.face);
else await buildToolServer(settings).connect(new StdioServerTransport());

function openStore(store: StockStore): EventStore | undefined {
  switch (store.kind) {
    case "none":
      return undefined;
    case "sample":
      return new InMemoryEventStore();
    case "ring":
      return ringEventStore(store.eventsMax);
  }
}

function serveHttp(face: HttpFace): void {
  const eventStore = openStore(face.store);
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const openSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
      ...(eventStore && { eventStore }),
    });
    // The SDK's own types do not agree under exactOptionalPropertyTypes.
    await buildToolServer(settings).connect(transport as Transport);
    return transport;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers["mcp-session-id"];
    const transport = typeof id === "string" ? transports.get(id) : await openSession();
    if (transport !== undefined) return transport.handleRequest(request, response);
    // [spec] "The server … MUST respond to requests containing that session ID with HTTP 404"
    const error = { code: -32001, message: "Session not found" };
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(face.port, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`listens on http://127.0.0.1:${port}/mcp\n`);
  });
}
