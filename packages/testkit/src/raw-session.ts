/**
 * An MCP session driven by hand: each request is one call here, each response is shown as it came.
 *
 * The rules of a client are left to the test: no retries, no reconnects, no cursor of its own.
 */
import { type EventStream, openEventStream, type RpcMessage } from "./event-stream.ts";
import type { RawHeaders } from "./http-exchange.ts";

export interface SessionOptions {
  /** The `protocolVersion` asked for. Default 2025-11-25. */
  readonly version?: string;
  readonly clientInfo?: { readonly name: string; readonly version: string };
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Sent with every request of the session: `authorization`, `mcp-resume-contract`. */
  readonly headers?: RawHeaders;
  /** Leave `notifications/initialized` to the test. */
  readonly isInitializedSent?: boolean;
}

export interface CallOptions {
  /** The JSON-RPC id. Default: 1, 2, 3 … */
  readonly id?: string | number;
  readonly progressToken?: string | number;
  /** More of `params._meta`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly headers?: RawHeaders;
}

export interface RawSession {
  readonly url: string;
  readonly sessionId: string;
  /** The negotiated version. */
  readonly version: string;
  readonly initializeResult: Readonly<Record<string, unknown>>;
  /** The response to `initialize` as it came. */
  readonly initializeStream: EventStream;
  /** POST this message, or array of them, as it is. Text goes out byte for byte. */
  post(message: object | string, options?: { headers?: RawHeaders }): Promise<EventStream>;
  /** POST a request of any method. */
  request(method: string, params?: object, options?: CallOptions): Promise<EventStream>;
  /** POST `tools/call`. */
  call(name: string, args?: object, options?: CallOptions): Promise<EventStream>;
  notify(method: string, params?: object): Promise<EventStream>;
  get(options?: { lastEventId?: string; headers?: RawHeaders }): Promise<EventStream>;
  delete(options?: { headers?: RawHeaders }): Promise<EventStream>;
}

export const acceptBoth = "application/json, text/event-stream";

/** The body of an `initialize` request, with id 0. */
export function initializeMessage(options: SessionOptions = {}): object {
  const params = {
    protocolVersion: options.version ?? "2025-11-25",
    capabilities: options.capabilities ?? {},
    clientInfo: options.clientInfo ?? { name: "raw-session", version: "1.0.0" },
  };
  return { jsonrpc: "2.0", id: 0, method: "initialize", params };
}

/**
 * Open a session: `initialize`, then `notifications/initialized`.
 *
 * @param url - of the MCP endpoint
 * @throws Error when `initialize` is not answered by a result and a session id
 */
export async function openSession(
  url: string | URL,
  options: SessionOptions = {},
): Promise<RawSession> {
  const initializeStream = await openEventStream({
    ...{ url, method: "POST", body: JSON.stringify(initializeMessage(options)) },
    headers: { accept: acceptBoth, "content-type": "application/json", ...options.headers },
  });
  const answer = await answerOf(initializeStream);
  const sessionId = initializeStream.headers["mcp-session-id"];
  if (answer.result === undefined || sessionId === undefined) {
    const { status } = initializeStream;
    throw new Error(`no session: ${status}, id ${sessionId}, ${JSON.stringify(answer)}`);
  }
  const version = String(answer.result.protocolVersion);
  const session: RawSession = {
    ...{ url: String(url), sessionId, version, initializeStream },
    initializeResult: answer.result,
    ...requests(String(url), {
      "mcp-session-id": sessionId,
      // [spec] the header came with 2025-06-18
      ...(version >= "2025-06-18" && { "mcp-protocol-version": version }),
      ...options.headers,
    }),
  };
  if (options.isInitializedSent ?? true) {
    const accepted = await session.notify("notifications/initialized");
    if (accepted.status !== 202) {
      throw new Error(`notifications/initialized: ${accepted.status} ${await accepted.text()}`);
    }
  }
  return session;
}

/** The JSON-RPC response to the only request, from an event stream or a JSON body. */
export async function answerOf(stream: EventStream): Promise<RpcMessage> {
  if (stream.isEventStream) return stream.response();
  const text = await stream.text();
  try {
    return JSON.parse(text) as RpcMessage;
  } catch {
    throw new Error(`${stream.status} with a body that is no JSON: ${text.slice(0, 200)}`);
  }
}

function requests(url: string, always: RawHeaders) {
  let lastId = 0;
  const post: RawSession["post"] = (message, { headers } = {}) =>
    openEventStream({
      ...{ url, method: "POST" },
      body: typeof message === "string" ? message : JSON.stringify(message),
      headers: merge({ accept: acceptBoth, "content-type": "application/json" }, always, headers),
    });
  const request: RawSession["request"] = (method, params = {}, options = {}) => {
    lastId += 1;
    const { id = lastId, progressToken, meta, headers } = options;
    const _meta = { ...(progressToken !== undefined && { progressToken }), ...meta };
    const withMeta = Object.keys(_meta).length > 0 ? { ...params, _meta } : params;
    return post({ jsonrpc: "2.0", id, method, params: withMeta }, headers && { headers });
  };
  return {
    post,
    request,
    call: (name: string, args: object = {}, options?: CallOptions) =>
      request("tools/call", { name, arguments: args }, options),
    notify: (method: string, params?: object) => post({ jsonrpc: "2.0", method, params }),
    get: ({ lastEventId, headers }: { lastEventId?: string; headers?: RawHeaders } = {}) =>
      openEventStream({
        ...{ url, method: "GET" },
        headers: merge(
          { accept: "text/event-stream", "last-event-id": lastEventId },
          always,
          headers,
        ),
      }),
    delete: ({ headers }: { headers?: RawHeaders } = {}) =>
      openEventStream({ url, method: "DELETE", headers: merge(always, headers) }),
  };
}

/** Later ones win, whatever the case of their names. */
function merge(...all: readonly (RawHeaders | undefined)[]): RawHeaders {
  const merged: Record<string, string | readonly string[] | undefined> = {};
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers ?? {})) merged[name.toLowerCase()] = value;
  }
  return merged;
}
