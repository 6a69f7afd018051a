/**
 * The strict rule on a closed stream: what a status alone says about the session.
 *
 *     null, 5xx  -> reconnectable       from the cursor, never from the head
 *     404        -> session_terminated  from nothing
 *     409, 410   -> events_lost         from the head
 *     the rest   -> an error that refuses to guess
 *
 * The richer table that a client lives by (bodies, other statuses, the `close` event) is built on
 * this one, in close-decision.ts.
 */
import { SessionResumptionError } from "./errors.ts";

/** Event ids are opaque to this rule. */
export type OpaqueId = string | number;

export type CloseOutcome = "reconnectable" | "session_terminated" | "events_lost";

/** A stream that was closed, or whose resume was refused. */
export interface StreamClose<Id extends OpaqueId = OpaqueId> {
  /** HTTP status of the refusal; null for a reset or a timeout of the transport. */
  readonly statusCode: number | null;
  /** The cursor: id of the last event that was seen; null for none. Zero is a cursor. */
  readonly lastEventIdSeen: Id | null;
  /** The newest event that the server says it has; null when it said nothing. */
  readonly serverHeadEventId: Id | null;
}

/** What is left of the session, and the id to show at the next GET. */
export type NextAction<Id extends OpaqueId = OpaqueId> =
  | { readonly outcome: "reconnectable"; readonly resumeFrom: Id }
  | { readonly outcome: "session_terminated"; readonly resumeFrom: null }
  | { readonly outcome: "events_lost"; readonly resumeFrom: Id };

/**
 * Say what a close means for the session.
 *
 * @returns the `outcome` of {@link nextAction} for the same close
 * @throws as {@link nextAction}
 */
export function classifyClose(close: StreamClose): CloseOutcome {
  return nextAction(close).outcome;
}

/**
 * Say what to do after a close.
 *
 * @throws {@link SessionResumptionError} `ERR_NO_CURSOR`: reconnectable, but no event was ever
 * seen; `ERR_NO_HEAD`: events are lost and the server named no head; `ERR_UNEXPECTED_CLOSE`: a
 * status that the rule does not name
 * @throws TypeError for a value that is no status or no id [C K-01]
 */
export function nextAction<Id extends OpaqueId>(close: StreamClose<Id>): NextAction<Id> {
  const action = judge(close);
  if (action instanceof SessionResumptionError) throw action;
  return action;
}

/** As {@link nextAction}, with the refusal as a value. */
export function judge<Id extends OpaqueId>(
  close: StreamClose<Id>,
): NextAction<Id> | SessionResumptionError {
  requireClose(close);
  const { statusCode, lastEventIdSeen, serverHeadEventId } = close;
  if (statusCode === null || isServerError(statusCode)) {
    if (lastEventIdSeen === null) return noCursor(statusCode);
    return { outcome: "reconnectable", resumeFrom: lastEventIdSeen };
  }
  if (statusCode === 404) return { outcome: "session_terminated", resumeFrom: null };
  if (statusCode === 409 || statusCode === 410) {
    if (serverHeadEventId === null) return noHead(statusCode);
    return { outcome: "events_lost", resumeFrom: serverHeadEventId };
  }
  return unexpectedClose(`status ${statusCode}`, statusCode);
}

export function isServerError(statusCode: number): boolean {
  return statusCode >= 500 && statusCode <= 599;
}

/** `what` is the close as a noun: `status 418`. */
export function unexpectedClose(
  what: string,
  seen: string | number | null,
): SessionResumptionError {
  return new SessionResumptionError(
    "ERR_UNEXPECTED_CLOSE",
    `Refused to guess what ${what} means for the session: taken for its end, calls that ran ` +
      "would be run again; taken for a mere disconnect, lost events would pass unseen.",
    { seen, needed: "a reset, a timeout, 5xx, 404, 409 or 410" },
  );
}

function noCursor(statusCode: number | null): SessionResumptionError {
  const what = statusCode === null ? "a reset or a timeout" : `status ${statusCode}`;
  return new SessionResumptionError(
    "ERR_NO_CURSOR",
    `Refused to resume after ${what}: no event id was ever seen on this stream. Without a cursor ` +
      "the server would begin where it likes, and events would be lost or come twice unseen.",
    { seen: null, needed: "the id of the last event that was seen" },
  );
}

function noHead(statusCode: number): SessionResumptionError {
  return new SessionResumptionError(
    "ERR_NO_HEAD",
    `Refused to go on after status ${statusCode}: events are lost, and the server named no event ` +
      "id from which to go on. The old cursor would be refused again, and a made-up one would " +
      "hide how much is missing.",
    { seen: null, needed: "the id of the server's newest event" },
  );
}

/** Callers may be plain JavaScript: a NaN or a "503" must not pass for a status without meaning. */
export function requireClose(close: unknown): void {
  if (typeof close !== "object" || close === null) {
    throw new TypeError(`A close must be an object, not ${describe(close)}.`);
  }
  const { statusCode, lastEventIdSeen, serverHeadEventId }: Partial<Record<string, unknown>> = {
    ...close,
  };
  if (statusCode !== null && !Number.isInteger(statusCode)) {
    throw new TypeError(`statusCode must be an integer or null, not ${describe(statusCode)}.`);
  }
  requireId("lastEventIdSeen", lastEventIdSeen);
  requireId("serverHeadEventId", serverHeadEventId);
}

// [spec] an empty last event ID is none: shown as a cursor it would be a resume without one.
function requireId(name: string, id: unknown): void {
  const isId = id === null || Number.isInteger(id) || (typeof id === "string" && id !== "");
  if (isId) return;
  throw new TypeError(
    `${name} must be an integer, a non-empty string or null, not ${describe(id)}.`,
  );
}

function describe(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
