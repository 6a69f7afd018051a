/**
 * JSON-RPC over stdio, one message a line, as a plain MCP server needs it: answers requests, sends
 * notifications, asks the client and waits for its answer. Knows no method of MCP.
 */

import type { Readable, Writable } from "node:stream";
import { createLineFramer, type Framed } from "../line-framing.ts";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** What a handler knows of the request that it answers. */
export interface RequestContext {
  readonly params: JsonObject;
  /** Aborted when the client cancels: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Ask the client. @throws Error when it refuses */
  ask(method: string, params: JsonObject): Promise<JsonObject>;
}

export type RequestHandler = (context: RequestContext) => JsonObject | Promise<JsonObject>;

/** An error that goes to the client with its code. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

type Id = string | number;

/** A longer message is answered as no JSON, bytes. */
const messageBytesMax = 32 * 1024 * 1024;

/**
 * Serve until the input ends.
 *
 * @param handlers - by method; a request for another one is answered with -32601
 */
export async function servePeer(
  input: Readable,
  output: Writable,
  handlers: Readonly<Record<string, RequestHandler>>,
): Promise<void> {
  const running = new Map<Id, AbortController>();
  const asked = new Map<number, (answer: JsonObject) => void>();
  let asks = 0;

  const send = (message: JsonObject) =>
    new Promise<void>((resolve) => {
      output.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, () => resolve());
    });

  const ask = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const id = ++asks;
    const answered = new Promise<JsonObject>((resolve) => asked.set(id, resolve));
    await send({ id, method, params });
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(String(objectOf(error).message));
    return objectOf(result);
  };

  async function answer(id: Id, method: string, params: JsonObject): Promise<void> {
    const abort = new AbortController();
    running.set(id, abort);
    const notify = (name: string, content: JsonObject) => send({ method: name, params: content });
    try {
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      if (handler === undefined) throw new RpcError(-32601, `There is no method "${method}".`);
      const result = await handler({ params, signal: abort.signal, notify, ask });
      if (!abort.signal.aborted) await send({ id, result });
    } catch (error) {
      if (abort.signal.aborted) return;
      const code = error instanceof RpcError ? error.code : -32603;
      await send({ id, error: { code, message: error instanceof Error ? error.message : "" } });
    } finally {
      running.delete(id);
    }
  }

  function take(message: JsonObject): void {
    const { id, method } = message;
    const params = objectOf(message.params);
    if (typeof method !== "string") {
      if (typeof id === "number") asked.get(id)?.(message);
      asked.delete(Number(id));
    } else if (typeof id === "string" || typeof id === "number") {
      void answer(id, method, params);
    } else if (method === "notifications/cancelled") {
      running.get(params.requestId as Id)?.abort();
    }
  }

  async function read(lines: Iterable<Framed>): Promise<void> {
    for (const line of lines) {
      const message = line.kind === "line" ? parse(line.text) : undefined;
      if (message !== undefined) take(message);
      else await send({ id: null, error: { code: -32700, message: "No JSON." } });
    }
  }

  // Not `node:readline`, which ends lines at U+2028 and U+2029 too: JSON may hold them as they are.
  const framer = createLineFramer(messageBytesMax);
  for await (const chunk of input as AsyncIterable<Buffer>) await read(framer.push(chunk));
  await read(framer.end());
  for (const abort of running.values()) abort.abort();
}

function parse(line: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(line) as Json);
  } catch {
    return undefined;
  }
}

/** The object that a value is, or an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}
