/**
 * A `fetch` whose answers a test writes: each request waits until it is answered. Streams are fed
 * by hand, and end, or break, when the test says so.
 */
import type { FetchLike } from "@holdfast/client";

export interface ScriptedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of a POST; an empty object else. */
  readonly body: RpcBody;
  /** The same, as it was sent. */
  readonly text: string;
  /** The client has given it up. */
  isAborted(): boolean;
  isAnswered(): boolean;
  /** Begin an event stream. */
  stream(headers?: Readonly<Record<string, string>>): ScriptedStream;
  respond(status: number, body?: unknown, headers?: Readonly<Record<string, string>>): void;
  /** The connection breaks before any header. @param cause - as undici names it */
  die(cause?: object): void;
  /** As an OAuth layer does. */
  fail(error: Error): void;
}

export interface RpcBody {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
}

export interface ScriptedStream {
  /** Bytes of the stream; a message is written by `event`. */
  write(text: string | Uint8Array): void;
  event(message: object, id?: string): void;
  end(): void;
  reset(): void;
  /** The client has let go of it. */
  isCancelled(): boolean;
}

export interface ScriptedFetch {
  readonly fetch: FetchLike;
  /** In the order in which they were made. */
  readonly requests: ScriptedRequest[];
  /** Those that nobody has answered or given up. */
  open(): ScriptedRequest[];
}

export function scriptedFetch(): ScriptedFetch {
  const requests: ScriptedRequest[] = [];
  return {
    requests,
    open: () => requests.filter((one) => !one.isAnswered() && !one.isAborted()),
    fetch: (_url, init = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      const signal = init.signal ?? undefined;
      const onAbort = () => reject(signal?.reason);
      signal?.addEventListener("abort", onAbort);
      const settled = () => signal?.removeEventListener("abort", onAbort);
      promise.then(settled, settled);
      requests.push(scripted(init, resolve, reject));
      return promise;
    },
  };
}

function scripted(
  init: RequestInit,
  resolve: (response: Response) => void,
  reject: (error: Error) => void,
): ScriptedRequest {
  let isAnswered = false;
  const answer = (response: Response) => {
    isAnswered = true;
    resolve(response);
  };
  const fail = (error: Error) => {
    isAnswered = true;
    reject(error);
  };
  return {
    method: init.method ?? "GET",
    headers: Object.fromEntries(new Headers(init.headers)),
    body: typeof init.body === "string" ? (JSON.parse(init.body) as RpcBody) : {},
    text: typeof init.body === "string" ? init.body : "",
    isAborted: () => init.signal?.aborted === true,
    isAnswered: () => isAnswered,
    stream: (headers = {}) => {
      const { body, stream } = openStream(init.signal ?? undefined);
      answer(new Response(body, { headers: { "content-type": "text/event-stream", ...headers } }));
      return stream;
    },
    respond: (status, body, headers = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const type = typeof body === "string" ? "text/html" : "application/json";
      const hasBody = body !== undefined && status !== 204;
      const shown = hasBody ? { "content-type": type, ...headers } : headers;
      answer(new Response(hasBody ? text : null, { status, headers: shown }));
    },
    die: (cause = { code: "ECONNRESET" }) => {
      fail(new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), cause) }));
    },
    fail,
  };
}

function openStream(signal: AbortSignal | undefined): {
  readonly body: ReadableStream<Uint8Array>;
  readonly stream: ScriptedStream;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isOver = false;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => once(() => {}),
  });
  const onAbort = () => {
    if (!isOver) controller?.error(signal?.reason);
    isOver = true;
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  const once = (run: () => void) => {
    if (isOver) return;
    isOver = true;
    signal?.removeEventListener("abort", onAbort);
    run();
  };
  const write = (text: string | Uint8Array) => {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    if (!isOver) controller?.enqueue(bytes);
  };
  return {
    body,
    stream: {
      write,
      event: (message, id) => {
        const name = id === undefined ? "" : `id: ${id}\n`;
        write(`${name}data: ${JSON.stringify(message)}\n\n`);
      },
      end: () => once(() => controller?.close()),
      reset: () => once(() => controller?.error(new TypeError("terminated"))),
      isCancelled: () => isOver,
    },
  };
}
