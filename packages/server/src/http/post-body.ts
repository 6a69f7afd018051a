/**
 * The body of a POST: read within its limit, parsed, and told apart into messages.
 */
import { isUtf8 } from "node:buffer";
import { allowsArrays, elementsOf } from "@holdfast/contract";
import { type Incoming, readIncoming } from "../incoming.ts";
import type { Exchange } from "./endpoint.ts";
import { accepts, checkContentType } from "./negotiation.ts";
import { type Rejection, reject } from "./rejection.ts";

export interface Posted {
  readonly text: string;
  readonly value: unknown;
}

/** [C D-04] Everything about a body that can be said before its session is looked up. */
export async function readPost({ endpoint, request }: Exchange): Promise<Rejection | Posted> {
  const accept = request.header("accept");
  if (!accepts(accept, "text/event-stream") || !accepts(accept, "application/json")) {
    return reject("not-acceptable", "A POST needs Accept: application/json, text/event-stream.");
  }
  const contentType = checkContentType(
    request.header("content-type"),
    request.header("content-encoding"),
  );
  if (contentType !== undefined) return contentType;
  const { bodyBytesMax } = endpoint.context.options;
  const body = await request.body(bodyBytesMax);
  if (body.kind === "too-large") {
    const message = `The body is larger than ${bodyBytesMax} bytes. Nothing was run.`;
    return reject("body-too-large", message, { data: { bodyBytesMax } });
  }
  if (body.kind === "incomplete") return reject("parse-error", "The body did not arrive whole.");
  if (!isUtf8(body.bytes)) return reject("parse-error", "The body is not UTF-8.");
  const text = decoder.decode(body.bytes);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    // The engine quotes the body beside the position; bodies stay out of messages [C P-03].
    const at = error instanceof Error ? / at position \d+/.exec(error.message)?.[0] : undefined;
    return reject("parse-error", `The body is not JSON${at ?? ""}.`);
  }
}

/** A byte order mark at the beginning is let go, as [RFC 8259 8.1] allows. */
const decoder = new TextDecoder();

/**
 * The messages of a body.
 *
 * @param version - what the session negotiated, once it has
 */
export function readMessages(
  { text, value }: Posted,
  version: string | undefined,
): Rejection | readonly Incoming[] {
  const isArray = Array.isArray(value);
  // [C E-01] arrays belong to 2025-03-26, and nothing but initialize comes before initialize.
  if (isArray && (version === undefined || !allowsArrays(version))) {
    const where = version ?? "a session that is not initialized";
    const message = `Arrays of messages are not part of ${where}. Send one at a time.`;
    return reject("invalid-request", message);
  }
  if (isArray && value.length === 0) return reject("invalid-request", "The array is empty.");
  const parts: readonly (readonly [string, unknown])[] = isArray
    ? elementsOf(text).map(({ start, end }, index) => [text.slice(start, end), value[index]])
    : [[text, value]];
  const messages: Incoming[] = [];
  for (const [part, partValue] of parts) {
    const message = readIncoming(part, partValue);
    if (message.kind === "invalid") return reject("invalid-request", message.problem);
    if (message.kind === "request" && message.method === "initialize") {
      return reject("invalid-request", "An initialize cannot stand in an array.");
    }
    messages.push(message);
  }
  return messages;
}

/** The id that a refusal answers: that of a single request. */
export function idJsonOf({ text, value }: Posted): string | undefined {
  if (!isObject(value)) return undefined;
  const message = readIncoming(text, value);
  return message.kind === "request" ? message.idJson : undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
