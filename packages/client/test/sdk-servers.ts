/**
 * Servers of the official SDKs as they are, one process of none: a tool that works until it is let
 * go, one that asks, one that fails. Whether they keep events is the test's choice.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type OrderedEventStore, onDispose, orderedEventStore } from "@holdfast/testkit";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, McpServer as McpServerV2 } from "@modelcontextprotocol/server";

export interface SdkServer {
  readonly port: number;
  readonly url: string;
  /** How often `work` ran. */
  readonly effects: { count: number };
  /** Let `work` end. */
  letGo(): void;
  /** Every session is forgotten, as by a restart. */
  forget(): void;
}

export interface SdkServerOptions {
  readonly keepsEvents: boolean;
}

interface Handler {
  handleRequest(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

type OpenSession = (
  tools: Tools,
  store: OrderedEventStore<JSONRPCMessage> | undefined,
  onOpen: (id: string, handler: Handler) => void,
) => Promise<Handler>;

interface Tools {
  work(tell: (progress: number) => Promise<void>): Promise<string>;
}

export const sdkServers: readonly (readonly [string, OpenSession])[] = [
  ["v1", openV1],
  ["v2", openV2],
];

export async function startSdkServer(
  open: OpenSession,
  { keepsEvents }: SdkServerOptions,
): Promise<SdkServer> {
  const sessions = new Map<string, Handler>();
  const effects = { count: 0 };
  const gate = Promise.withResolvers<void>();
  const tools: Tools = {
    work: async (tell) => {
      effects.count += 1;
      await tell(1);
      await gate.promise;
      await tell(2);
      return `worked ${effects.count}`;
    },
  };
  const store = keepsEvents ? orderedEventStore<JSONRPCMessage>() : undefined;
  const server = createServer((req, res) => {
    void (async () => {
      const id = req.headers["mcp-session-id"];
      const known = typeof id === "string" ? sessions.get(id) : undefined;
      if (id !== undefined && known === undefined) return res.writeHead(404).end();
      const handler = known ?? (await open(tools, store, (name, one) => sessions.set(name, one)));
      return handler.handleRequest(req, res);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    gate.resolve();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, url: `http://127.0.0.1:${port}/mcp`, effects },
    letGo: () => gate.resolve(),
    forget: () => sessions.clear(),
  };
}

const info = { name: "sdk-server", version: "1.0.0" };
const capabilities = { capabilities: { logging: {} } };
const work = { description: "Works until it is let go" };
const ask = { description: "Asks the user" };
const question = {
  message: "Which colour?",
  requestedSchema: {
    type: "object" as const,
    properties: { colour: { type: "string" as const } },
  },
};

async function openV1(...[tools, store, onOpen]: Parameters<OpenSession>): Promise<Handler> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    ...(store === undefined ? {} : { eventStore: store }),
    onsessioninitialized: (id) => onOpen(id, transport),
  });
  const server = new McpServerV1(info, capabilities);
  server.registerTool("work", work, async ({ sendNotification, _meta }) => {
    const progressToken = _meta?.progressToken;
    const tell = async (progress: number) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress };
      await sendNotification({ method: "notifications/progress", params });
    };
    return textResult(await tools.work(tell));
  });
  server.registerTool("ask", ask, async () => {
    const { action } = await server.server.elicitInput(question);
    return textResult(action);
  });
  // Its own types do not agree where `undefined` and absence are told apart.
  await server.connect(transport as Transport);
  return transport;
}

async function openV2(...[tools, store, onOpen]: Parameters<OpenSession>): Promise<Handler> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    ...(store === undefined ? {} : { eventStore: store }),
    onsessioninitialized: (id) => onOpen(id, transport),
  });
  const server = new McpServerV2(info, capabilities);
  server.registerTool("work", work, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    const tell = async (progress: number) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress };
      await mcpReq.notify({ method: "notifications/progress", params });
    };
    return textResult(await tools.work(tell));
  });
  server.registerTool("ask", ask, async () => {
    const { action } = await server.server.elicitInput(question);
    return textResult(action);
  });
  await server.connect(transport);
  return transport;
}

function textResult(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
