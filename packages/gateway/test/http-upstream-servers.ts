/**
 * Streamable HTTP servers to stand behind a gateway: of the official SDKs as they are, and one that
 * a test writes byte for byte.
 */
import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { type OrderedEventStore, onDispose, orderedEventStore, signal } from "@holdfast/testkit";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, McpServer as McpServerV2 } from "@modelcontextprotocol/server";

interface Handler {
  handleRequest(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

interface SessionParts {
  readonly eventStore?: OrderedEventStore<JSONRPCMessage>;
  readonly sessionIdGenerator?: () => string;
  readonly onsessioninitialized: (id: string) => void;
}

interface Work {
  /** `undefined`: no progress was asked for. */
  readonly progressToken: string | number | undefined;
  notify(message: { method: string; params: Record<string, unknown> }): Promise<void>;
  readonly signal: AbortSignal;
}

export interface SdkHttpServer {
  readonly url: string;
  readonly target: { readonly host: string; readonly port: number };
  /** How often `work` ran. */
  readonly effects: { count: number };
  /** Resolves when `work` has begun once more. */
  readonly begun: ReturnType<typeof signal<number>>;
  /** Calls of `work` that were cancelled. */
  readonly cancelled: ReturnType<typeof signal<number>>;
  readonly sessions: ReadonlyMap<string, unknown>;
  /** Let every `work` that runs end. */
  letGo(): void;
  /** Every session is forgotten, as by a restart. */
  forget(): void;
  /** Tell all sessions that their tools have changed, on the standalone stream. */
  announce(): Promise<void>;
}

export interface SdkHttpServerOptions {
  readonly keepsEvents: boolean;
  /** The server names no sessions. */
  readonly isSessionless?: boolean;
}

export const sdkVersions = ["v1", "v2"] as const;

export async function sdkHttpServer(
  version: (typeof sdkVersions)[number],
  { keepsEvents, isSessionless = false }: SdkHttpServerOptions,
): Promise<SdkHttpServer> {
  const sessions = new Map<string, Handler>();
  const announcers = new Set<() => Promise<void>>();
  const effects = { count: 0 };
  const begun = signal<number>("work");
  const cancelled = signal<number>("cancellation");
  let waiting: (() => void)[] = [];
  const work = async ({ progressToken, notify, signal: aborted }: Work): Promise<string> => {
    effects.count += 1;
    const tell = async (progress: number) => {
      if (progressToken === undefined) return;
      await notify({ method: "notifications/progress", params: { progressToken, progress } });
    };
    aborted.addEventListener("abort", () => cancelled.emit(effects.count));
    await tell(1);
    const released = new Promise<void>((resolve) => void waiting.push(resolve));
    begun.emit(effects.count);
    await released;
    await tell(2);
    return `worked ${effects.count}`;
  };
  const open = async (): Promise<Handler> => {
    const parts: SessionParts = {
      ...(isSessionless ? {} : { sessionIdGenerator: () => randomUUID() }),
      ...(keepsEvents ? { eventStore: orderedEventStore<JSONRPCMessage>() } : {}),
      onsessioninitialized: (id) => void sessions.set(id, handler),
    };
    const { handler, announce } = await (version === "v1" ? openV1 : openV2)(parts, work);
    announcers.add(announce);
    return handler;
  };
  const server = createServer((req, res) => {
    void (async () => {
      const id = req.headers["mcp-session-id"];
      const known = typeof id === "string" ? sessions.get(id) : undefined;
      if (id !== undefined && known === undefined) return res.writeHead(404).end();
      return (known ?? (await open())).handleRequest(req, res);
    })();
  });
  const port = await listening(server);
  onDispose(() => letGo());
  const letGo = () => {
    for (const end of waiting) end();
    waiting = [];
  };
  return {
    ...{ effects, begun, cancelled, sessions, letGo },
    url: `http://127.0.0.1:${port}/mcp`,
    target: { host: "127.0.0.1", port },
    forget: () => sessions.clear(),
    announce: async () => {
      for (const announce of announcers) await announce();
    },
  };
}

const info = { name: "sdk-server", version: "1.0.0" };
const capabilities = { capabilities: { logging: {} } };
const question = {
  message: "Which colour?",
  requestedSchema: {
    type: "object" as const,
    properties: { colour: { type: "string" as const } },
  },
};

type Open = (
  parts: SessionParts,
  work: (work: Work) => Promise<string>,
) => Promise<{ readonly handler: Handler; readonly announce: () => Promise<void> }>;

const openV1: Open = async (parts, work) => {
  const transport = new StreamableHTTPServerTransport(
    parts as ConstructorParameters<typeof StreamableHTTPServerTransport>[0],
  );
  const server = new McpServerV1(info, capabilities);
  server.registerTool("work", {}, async ({ sendNotification, _meta, signal: aborted }) => {
    const notify = (message: object) => sendNotification(message as never);
    return textResult(await work({ progressToken: _meta?.progressToken, notify, signal: aborted }));
  });
  server.registerTool("ask", {}, async ({ sendRequest }) => {
    const asked = { method: "elicitation/create" as const, params: question };
    const { ElicitResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const { action, content } = await sendRequest(asked, ElicitResultSchema);
    return textResult(`${action} ${content?.colour}`);
  });
  // Its own types do not agree where `undefined` and absence are told apart.
  await server.connect(transport as Transport);
  const announce = async () => server.sendToolListChanged();
  return { handler: transport, announce };
};

const openV2: Open = async (parts, work) => {
  const transport = new NodeStreamableHTTPServerTransport(
    parts as ConstructorParameters<typeof NodeStreamableHTTPServerTransport>[0],
  );
  const server = new McpServerV2(info, capabilities);
  server.registerTool("work", {}, async ({ mcpReq }) => {
    const notify = (message: object) => mcpReq.notify(message as never);
    const { _meta, signal: aborted } = mcpReq;
    return textResult(await work({ progressToken: _meta?.progressToken, notify, signal: aborted }));
  });
  server.registerTool("ask", {}, async ({ mcpReq }) => {
    // Its `elicitInput` names no request: that question would come on the standalone stream.
    const asked = { method: "elicitation/create" as const, params: question };
    const { action, content } = await mcpReq.send(asked);
    return textResult(`${action} ${content?.colour}`);
  });
  await server.connect(transport);
  const announce = async () => server.sendToolListChanged();
  return { handler: transport, announce };
};

function textResult(text: string) {
  return { content: [{ type: "text" as const, text }] };
}

/** A request as it reached the server. */
export interface HttpArrival {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, byte for byte. */
  readonly text: string;
  readonly message: { readonly id?: number; readonly method?: string; readonly params?: object };
  readonly res: ServerResponse;
  /** Answer an initialize, a notification, the standalone GET, as any server would. */
  answer(result: object, headers?: Readonly<Record<string, string>>): void;
  /** Begin an event stream; each event is written as it is. */
  stream(): (data: string, id?: string) => void;
}

/**
 * @param play - is shown each request that no session set-up would make
 * @param greet - answers initialize
 */
export async function playedHttpServer(
  play: (arrival: HttpArrival) => void,
  greet = (arrival: HttpArrival, count: number) =>
    arrival.answer(hello, { "mcp-session-id": `s-${count}` }),
) {
  const arrivals: HttpArrival[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const arrival = arrivalOf(req, res, text);
      arrivals.push(arrival);
      const { method } = arrival.message;
      if (req.method === "GET" && req.headers["last-event-id"] === undefined) {
        res.writeHead(405).end();
      } else if (req.method === "DELETE") {
        res.writeHead(200).end();
        play(arrival);
      } else if (method === "initialize") {
        greet(arrival, arrivals.length);
      } else if (method === "ping") arrival.answer({});
      else if (arrival.message.id === undefined && method !== undefined) res.writeHead(202).end();
      else play(arrival);
    });
  });
  const port = await listening(server);
  return { url: `http://127.0.0.1:${port}/mcp`, arrivals };
}

const hello = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "played", version: "1" },
};

function arrivalOf(req: IncomingMessage, res: ServerResponse, text: string): HttpArrival {
  const message = text === "" ? {} : (JSON.parse(text) as HttpArrival["message"]);
  return {
    ...{ method: req.method ?? "", headers: req.headers, text, message, res },
    answer: (result, headers = {}) => {
      res.writeHead(200, { "content-type": "application/json", ...headers });
      res.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    },
    stream: () => {
      res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return (data, id) =>
        void res.write(`${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
    },
  };
}

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
