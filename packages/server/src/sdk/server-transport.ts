/**
 * A transport in the shape of the SDK's `StreamableHTTPServerTransport`, for servers that keep one
 * transport for each session in a table of their own. Behind it is the session runtime, one for all
 * transports on a log.
 *
 *     made ──initialize──▶ serving ──DELETE, expiry, close──▶ closed
 *
 * The table is in memory, so that a session does not outlive the process; `createSessionHandler`
 * does without one.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { refusalBody } from "@holdfast/contract";
import { type EventLog, memoryLog, type SessionId } from "@holdfast/log";
import type { ServedMessage } from "../http/node.ts";
import type { RuntimeOptions } from "../options.ts";
import { createSessionRuntime, type SessionRuntime } from "../runtime.ts";
import type { Upstream, UpstreamEvents, UpstreamSession } from "../upstream.ts";
import { sendAsJson } from "./json-response.ts";
import type { MessageExtra, SdkTransport, SendOptions } from "./sdk-types.ts";
import { eventBytesMaxDefault, SessionTransport } from "./session-transport.ts";

export interface HoldfastServerTransportOptions {
  /** Makes the session's id: visible ASCII, at least 128 random bits. There is no stateless mode. */
  readonly sessionIdGenerator: () => string;
  /** Awaited before the server hears of the session. */
  readonly onsessioninitialized?: (sessionId: string) => void | Promise<void>;
  /** The session is over: deleted, expired, or ended by its server. */
  readonly onsessionclosed?: (sessionId: string) => void | Promise<void>;
  /** Answer POSTs with JSON in place of an event stream. Such an answer cannot be resumed. */
  readonly enableJsonResponse?: boolean;
  /** Beside the loopback names, which are always allowed. Those of the first transport on a log. */
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  /** What `retry:` tells clients, milliseconds. That of the first transport on a log. */
  readonly retryInterval?: number;
  /** Where events are kept; by default in memory. */
  readonly log?: EventLog;
}

const memory = memoryLog();
const runtimes = new WeakMap<EventLog, SessionRuntime>();
/** The transport whose request is served, where a session may be born. */
const serving = new AsyncLocalStorage<HoldfastServerTransport>();
const unborn = new Map<string, HoldfastServerTransport>();

export class HoldfastServerTransport implements SdkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: unknown, extra?: MessageExtra) => void) | undefined;
  sessionId: string | undefined;
  readonly #options: HoldfastServerTransportOptions;
  readonly #runtime: SessionRuntime;
  #inner: SessionTransport | undefined;
  #events: UpstreamEvents | undefined;

  constructor(options: HoldfastServerTransportOptions) {
    this.#options = options;
    this.#runtime = runtimeOn(options.log ?? memory, options);
  }

  async start(): Promise<void> {}

  async send(message: unknown, options?: SendOptions): Promise<void> {
    if (this.#inner === undefined) throw new Error("There is no session yet.");
    await this.#inner.send(message, options);
  }

  async close(): Promise<void> {
    if (this.#inner === undefined) this.onclose?.();
    else await this.#inner.close();
  }

  /** Let the reader of a request's stream go, by the id that its handler sees [C E-11]. */
  closeSSEStream(requestId: string | number): void {
    if (typeof requestId === "number") this.#events?.onLetGo(requestId);
  }

  closeStandaloneSSEStream(): void {
    this.#events?.onLetGo(null);
  }

  /**
   * Serve a request of this session, or the one that begins it.
   *
   * @param parsedBody - the body, where a parser has read it
   */
  async handleRequest(
    req: ServedMessage,
    res: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> {
    const asked = req.headers["mcp-session-id"];
    const isOthers = asked !== undefined && asked !== this.sessionId;
    if (isOthers || (asked === undefined && this.sessionId !== undefined)) {
      return refuse(res, isOthers ? "session-not-found" : "session-required");
    }
    const request = parsedBody === undefined ? req : Object.assign(req, { body: parsedBody });
    const isJson = this.#options.enableJsonResponse === true && req.method === "POST";
    if (isJson) return serving.run(this, () => sendAsJson(this.#runtime, request, res));
    serving.run(this, () => this.#runtime.node(request, res));
    if (!res.closed) await once(res, "close");
  }

  /** A session is about to be born of the request that is being served. */
  newSessionId(): SessionId {
    const id = this.#options.sessionIdGenerator();
    if (!/^[\x21-\x7e]{22,256}$/.test(id)) {
      throw new TypeError("sessionIdGenerator must make at least 22 characters of visible ASCII.");
    }
    unborn.set(id, this);
    return id as SessionId;
  }

  /** The session is there; its server is connected to this transport already. */
  async begin({ id }: UpstreamSession, events: UpstreamEvents): Promise<Upstream> {
    const inner = new SessionTransport(events, {
      sessionId: id,
      eventBytesMax: eventBytesMaxDefault,
    });
    this.#inner = inner;
    this.#events = events;
    this.sessionId = id;
    inner.onmessage = (message, extra) => this.onmessage?.(message, extra);
    inner.onclose = () => this.onclose?.();
    await this.#options.onsessioninitialized?.(id);
    let ended: Promise<void> | undefined;
    const end = async (isOver: boolean) => {
      await inner.end({ connect: async () => {} });
      if (isOver) await this.#options.onsessionclosed?.(id);
    };
    return {
      send: async (text, headers) => inner.receive(text, headers),
      close: (how) => {
        ended ??= end(how === "over");
        return ended;
      },
    };
  }
}

function runtimeOn(log: EventLog, options: HoldfastServerTransportOptions): SessionRuntime {
  const known = runtimes.get(log);
  if (known !== undefined) return known;
  const { retryInterval, allowedHosts = [], allowedOrigins = [] } = options;
  const runtimeOptions: Partial<RuntimeOptions> = {
    ...{ allowedHosts, allowedOrigins, forwardHeaders: "all" },
    ...(retryInterval === undefined ? {} : { retryMs: retryInterval }),
  };
  const runtime = createSessionRuntime({
    log,
    options: runtimeOptions,
    newSessionId: () => {
      const transport = serving.getStore();
      if (transport === undefined) throw new Error("A session was born outside of a request.");
      return transport.newSessionId();
    },
    upstream: {
      start: async (session, events) => {
        const transport = unborn.get(session.id);
        // Its server was made by the application, which would have to make another.
        if (transport === undefined) throw new Error("The session's server is gone.");
        unborn.delete(session.id);
        return transport.begin(session, events);
      },
    },
  });
  runtimes.set(log, runtime);
  return runtime;
}

function refuse(res: ServerResponse, type: "session-not-found" | "session-required"): void {
  const isFound = type === "session-required";
  const message = isFound
    ? "Every request but initialize needs an Mcp-Session-Id."
    : "The session is not known here; begin a new one.";
  res.writeHead(isFound ? 400 : 404, { "content-type": "application/json" });
  res.end(refusalBody(type, { message, data: isFound ? {} : { reason: "unknown" } }));
}
