/**
 * A body that somebody else has read: a parser of the web framework.
 */
import type { BodyOutcome } from "./exchange.ts";

/** @param body - bytes, text, or the JSON value that the parser made */
export function parsedBody(body: unknown, bytesMax: number): BodyOutcome {
  const bytes = bytesOf(body);
  return bytes.length > bytesMax ? { kind: "too-large" } : { kind: "body", bytes };
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
