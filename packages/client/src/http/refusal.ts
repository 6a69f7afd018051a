/** What an answer that says no tells: status, headers and body as facts. Pure. */
import {
  type JsonRpcError,
  parseMessage,
  type RefusedBy,
  type RequestId,
} from "@holdfast/contract";

export interface Refusal extends RefusedBy<string> {
  /** `error.data.reason`: why a session is gone [C S-04]. */
  readonly reason: string | null;
  readonly stream: number | null;
  readonly lostEvents: number | null;
  /** [C D-03] the body says that a POST so refused certainly did not run. */
  readonly isNotRun: boolean;
  /** The JSON-RPC error of the body, if it is one; the id is as the server wrote it. */
  readonly answer: { readonly id: RequestId | null; readonly error: JsonRpcError } | null;
  /** The beginning of the body. */
  readonly text: string;
}

/**
 * @param retryAfter - value of the header
 * @param wallMs - now, for a `Retry-After` that is a date
 */
export function readRefusal(
  status: number,
  retryAfter: string | null,
  text: string,
  wallMs: number,
): Refusal {
  const answer = readAnswer(text);
  const data = members(answer?.error.data);
  return {
    kind: "status",
    status,
    type: textOf(data.type),
    reason: textOf(data.reason),
    oldestEventId: textOf(data.oldestEventId),
    headEventId: textOf(data.headEventId),
    stream: countOf(data.stream),
    lostEvents: countOf(data.lostEvents),
    isNotRun: data.notRun === true,
    retryAfterMs: readRetryAfter(retryAfter, wallMs),
    answer,
    text,
  };
}

/** A refusal of which nothing but the status is known. */
export function bareRefusal(status: number): Refusal {
  return readRefusal(status, null, "", 0);
}

/** Seconds, or a date [RFC 9110, 10.2.3]. */
function readRetryAfter(value: string | null, wallMs: number): number | null {
  if (value === null) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - wallMs);
}

function readAnswer(text: string): Refusal["answer"] {
  const message = parseMessage(parseJson(text));
  return message.kind === "response" && "error" in message
    ? { id: message.id, error: message.error }
    : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
