/**
 * One HTTP request and its response over a bare socket, with nothing helpful in between.
 *
 * Headers go out as they are given, bodies as long as they are told; no redirects, no retries, no
 * shared connections. A response shows its bytes, and how it ended. Not an HTTP client.
 */
import { connect, type Socket } from "node:net";
import { onDispose } from "./disposal.ts";
import { type ResponseHead, type ResponseReader, responseReader } from "./http-response.ts";
import { within } from "./wait-for.ts";

export interface RawRequest {
  readonly url: string | URL;
  readonly method?: string;
  /** Unchecked, as Latin-1; several values make several lines; `undefined` drops a default. */
  readonly headers?: RawHeaders;
  readonly body?: string | Uint8Array;
  /** How the body says its length; `"none"` does not say. Default `"length"`. */
  readonly framing?: "length" | "chunked" | "none";
  /** Send so much of the body and leave the request open. */
  readonly bodyBytesSent?: number;
  /** Bytes in the place of request line and headers, blank line included. */
  readonly head?: string | Uint8Array;
}

export type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * `end`: whole. `truncated`: closed before its last byte. `reset`: the connection broke.
 * `destroyed`: this side did it.
 */
export interface ExchangeEnd {
  readonly how: "end" | "truncated" | "reset" | "destroyed";
  /** Code of the socket's error: `ECONNRESET`. */
  readonly code?: string;
}

export interface HttpExchange extends ResponseHead {
  /** Pieces of the body in the order of their arrival. */
  readonly chunks: readonly Buffer[];
  readonly ended: Promise<ExchangeEnd>;
  /** The whole body. @throws Error when the response does not end as `end` */
  body(): Promise<Buffer>;
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** Send more bytes of the request, as they are. */
  send(bytes: string | Uint8Array): void;
  /** Stop reading. The kernel still takes what its receive buffer holds. */
  pause(): void;
  resume(): void;
  /** Close at once; the server sees the connection end. */
  destroy(how?: "fin" | "rst"): void;
}

/** A connection that ended before the head of a response had come. */
export class NoResponseError extends Error {
  readonly end: ExchangeEnd;
  constructor(request: RawRequest, end: ExchangeEnd) {
    super(`no response to ${request.method ?? "GET"} ${request.url}: ${end.code ?? end.how}`);
    this.name = "NoResponseError";
    this.end = end;
  }
}

/**
 * Send a request and wait for the head of its response.
 *
 * @param onBytes - told of each piece of the body, and once more with nothing at its end
 * @throws {@link NoResponseError}
 */
export async function openExchange(
  request: RawRequest,
  onBytes: (bytes: Buffer | undefined) => void = () => {},
): Promise<HttpExchange> {
  const url = new URL(request.url);
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  const forget = onDispose(() => void socket.destroy());
  const head = Promise.withResolvers<ResponseHead>();
  const ended = Promise.withResolvers<ExchangeEnd>();
  const chunks: Buffer[] = [];
  let isOver = false;
  const finish = (end: ExchangeEnd) => {
    if (isOver) return;
    isOver = true;
    forget();
    socket.destroy();
    head.reject(new NoResponseError(request, end));
    ended.resolve(end);
    onBytes(undefined);
  };
  const reader = responseReader(request.method);
  socket.on("data", (data) => {
    try {
      for (const piece of reader.read(data)) {
        if (piece.kind === "head") head.resolve(piece.head);
        if (piece.kind === "end") finish({ how: "end" });
        if (piece.kind === "body" && !isOver) {
          chunks.push(piece.bytes);
          onBytes(piece.bytes);
        }
      }
    } catch (error) {
      head.reject(error);
      finish({ how: "truncated", code: String(error) });
    }
  });
  onSocketEnd(socket, reader, finish);
  socket.write(requestBytes(request, url));

  const { status, reason, headers, rawHeaders } = await within(
    head.promise,
    `the response to ${request.method ?? "GET"} ${url.pathname}`,
  );
  const body = async () => {
    const end = await within(ended.promise, `the end of the response to ${url.pathname}`);
    if (end.how !== "end") throw new Error(`the response ended early: ${end.code ?? end.how}`);
    return Buffer.concat(chunks);
  };
  return {
    ...{ status, reason, headers, rawHeaders, chunks, body, ended: ended.promise },
    text: async () => (await body()).toString("utf8"),
    json: async () => JSON.parse((await body()).toString("utf8")) as unknown,
    send: (bytes) => void socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: (how = "fin") => {
      if (how === "rst") socket.resetAndDestroy();
      finish({ how: "destroyed" });
    },
  };
}

function onSocketEnd(
  socket: Socket,
  reader: ResponseReader,
  finish: (end: ExchangeEnd) => void,
): void {
  socket.on("end", () => finish({ how: reader.finish() === "complete" ? "end" : "truncated" }));
  socket.on("error", (error: NodeJS.ErrnoException) =>
    finish({ how: "reset", ...(error.code !== undefined && { code: error.code }) }),
  );
  socket.on("close", () => finish({ how: "destroyed" }));
}

/** A request and its whole response. @throws {@link NoResponseError}, Error on a cut response */
export async function rawRequest(request: RawRequest): Promise<RawResponse> {
  const exchange = await openExchange(request);
  const body = await exchange.body();
  const { status, reason, headers, rawHeaders } = exchange;
  const text = body.toString("utf8");
  return { status, reason, headers, rawHeaders, body, text, json: () => JSON.parse(text) };
}

export interface RawResponse extends ResponseHead {
  readonly body: Buffer;
  readonly text: string;
  json(): unknown;
}

function requestBytes(request: RawRequest, url: URL): Buffer {
  const body = Buffer.from(request.body ?? "");
  const sent = body.subarray(0, request.bodyBytesSent ?? body.length);
  const isWhole = sent.length === body.length;
  const { head = headText(request, url, body) } = request;
  const headBytes = typeof head === "string" ? Buffer.from(head, "latin1") : head;
  const bodyBytes = request.framing === "chunked" ? chunked(sent, isWhole) : sent;
  return Buffer.concat([headBytes, bodyBytes]);
}

function headText(request: RawRequest, url: URL, body: Buffer): string {
  const framing = request.framing ?? "length";
  const defaults: Record<string, string> = { host: url.host };
  if (request.body !== undefined && framing === "length") {
    defaults["content-length"] = String(body.length);
  }
  if (framing === "chunked") defaults["transfer-encoding"] = "chunked";
  const given = request.headers ?? {};
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries(defaults).filter(([name]) => !names.has(name));
  const lines = [...kept, ...Object.entries(given)].flatMap(([name, value]) =>
    (value === undefined ? [] : [value].flat()).map((one) => `${name}: ${one}\r\n`),
  );
  const target = `${url.pathname}${url.search}`;
  return `${request.method ?? "GET"} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

function chunked(body: Buffer, isWhole: boolean): Buffer {
  const size = Buffer.from(body.length > 0 ? `${body.length.toString(16)}\r\n` : "");
  const end = Buffer.from(`${body.length > 0 ? "\r\n" : ""}${isWhole ? "0\r\n\r\n" : ""}`);
  return Buffer.concat([size, body, end]);
}
