/**
 * The endpoint's face for the fetch style: `Request` in, `Response` out.
 */
import type { AuthInfo } from "../authentication.ts";
import type {
  BodyOutcome,
  HttpReply,
  HttpRequest,
  Headers as PlainHeaders,
  Sink,
} from "./exchange.ts";
import { parsedBody } from "./parsed-body.ts";

/** Bytes that a response may hold before its writer has to wait. */
const highWaterBytes = 64 * 1024;

const encoder = new TextEncoder();

/** What somebody before the endpoint knows of a request. */
export interface RequestFacts {
  /** The body, where a parser has read it: its numbers and key order are the parser's [C E-12]. */
  readonly parsedBody?: unknown;
  /** Who makes it. */
  readonly authInfo?: AuthInfo | undefined;
}

export function fetchRequest(request: Request, facts: RequestFacts = {}): HttpRequest {
  const url = new URL(request.url);
  return {
    method: request.method,
    path: url.pathname,
    header: (name) => request.headers.get(name) ?? undefined,
    // A Request that was made by hand has no Host; its URL says the same.
    hosts: () => (request.headers.get("host") ?? url.host).split(", "),
    headers: () => Object.fromEntries(request.headers),
    authInfo: facts.authInfo,
    body: (bytesMax) =>
      facts.parsedBody === undefined
        ? readBody(request, bytesMax)
        : Promise.resolve(parsedBody(facts.parsedBody, bytesMax)),
  };
}

/** A reply whose `Response` is there once the handler has begun its answer. */
export function fetchReply(request: Request): HttpReply & { readonly response: Promise<Response> } {
  const { promise: response, resolve } = Promise.withResolvers<Response>();
  return {
    response,
    send: (status, headers, body) => resolve(new Response(body ?? null, { status, headers })),
    stream: (headers) => {
      const { sink, body } = streamingBody(request.signal);
      resolve(new Response(body, { status: 200, headers: headers as PlainHeaders }));
      return sink;
    },
  };
}

/**
 *     open ──end──▶ ending ──everything taken──▶ over
 *       └──abort, cancel, destroy──▶ over ◀──not in time──┘
 */
function streamingBody(signal: AbortSignal): { sink: Sink; body: ReadableStream<Uint8Array> } {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  /** The writer is told: nothing more can be written. */
  let isClosed = false;
  /** Set while the last of the body waits to be taken. */
  let linger: NodeJS.Timeout | undefined;
  const waiting: (() => void)[] = [];
  const listeners: (() => void)[] = [];
  const isTaken = () => (controller.desiredSize ?? 0) >= highWaterBytes;
  const wake = () => {
    for (const waiter of waiting.splice(0)) waiter();
  };
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    wake();
    for (const listener of listeners.splice(0)) listener();
  };
  const stopLingering = () => {
    clearTimeout(linger);
    linger = undefined;
  };
  const fail = () => {
    if (isClosed && linger === undefined) return;
    stopLingering();
    controller.error(new Error("The connection was closed."));
    close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: () => {
        wake();
        if (linger === undefined || !isTaken()) return;
        stopLingering();
        controller.close();
      },
      cancel: () => {
        stopLingering();
        close();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: highWaterBytes }),
  );
  // The client may have gone while its stream was being opened: no event comes any more.
  if (signal.aborted) fail();
  else signal.addEventListener("abort", fail, { once: true });
  const sink: Sink = {
    write: (text) => {
      if (isClosed) return false;
      controller.enqueue(typeof text === "string" ? encoder.encode(text) : text);
      return (controller.desiredSize ?? 0) > 0;
    },
    isDrained: () => isClosed || isTaken(),
    drained: () =>
      new Promise((resolve) => {
        if (isClosed || (controller.desiredSize ?? 0) > 0) resolve();
        else waiting.push(resolve);
      }),
    end: (lingerMs) => {
      if (isClosed) return;
      if (isTaken()) controller.close();
      else linger = setTimeout(fail, lingerMs).unref();
      close();
    },
    destroy: fail,
    onClose: (listener) => {
      if (isClosed) listener();
      else listeners.push(listener);
    },
  };
  return { sink, body };
}

async function readBody(request: Request, bytesMax: number): Promise<BodyOutcome> {
  // [C D-03] refused before it is read: a client may wait for the answer with most of its body.
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) return { kind: "too-large" };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.length;
      if (bytes > bytesMax) return { kind: "too-large" };
      chunks.push(chunk);
    }
  } catch {
    return { kind: "incomplete" };
  }
  return { kind: "body", bytes: Buffer.concat(chunks) };
}
