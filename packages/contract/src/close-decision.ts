/**
 * The decision on a closed stream [C K-01]: what a client does when a viewport ends or its resume
 * is refused. The strict pair in close.ts knows statuses alone; this knows everything that can
 * happen, and asks that pair wherever it has an answer. Waiting, counting and giving up are the
 * client's: a decision has a floor, no timer. The text of a message is never read.
 */
import {
  isServerError,
  judge,
  type OpaqueId,
  requireClose,
  type StreamClose,
  unexpectedClose,
} from "./close.ts";
import { causeOf, closeTable, type DecisionKind, standingOf } from "./close-table.ts";
import type { ClosedBy, Held } from "./closed-by.ts";
import { SessionResumptionError } from "./errors.ts";
import type { OutcomeUnknownReason } from "./loss.ts";

export type CloseDecision<Id extends OpaqueId = OpaqueId> =
  /** Same session: GET with the cursor, not before `floorMs` have passed. */
  | {
      readonly kind: "resume";
      readonly cursor: Id;
      readonly floorMs: number;
      readonly usesBudget: boolean;
    }
  /** The server takes the old viewport for alive: keep the cursor, back off, try again. */
  | { readonly kind: "busy"; readonly cursor: Id | null; readonly floorMs: number }
  /** [C K-02] no id ever came: the request, safe to repeat, is sent again. */
  | { readonly kind: "reissue"; readonly floorMs: number }
  /** [C K-02] no id ever came, and the request is not safe to repeat. */
  | { readonly kind: "refuse"; readonly error: SessionResumptionError }
  /** [C K-02] no id ever came: GET without a cursor, and a gap of unknown size is reported. */
  | { readonly kind: "reopen"; readonly floorMs: number; readonly usesBudget: boolean }
  /** A gap is reported, and the stream goes on from there. */
  | { readonly kind: "eventsLost"; readonly from: LossRecovery<Id> }
  | { readonly kind: "sessionTerminated" }
  | { readonly kind: "sessionEnding"; readonly reason: string | null }
  /** Nothing more will come, and nothing is missing. */
  | { readonly kind: "complete" }
  /** Nothing more will come, but the response has not. */
  | { readonly kind: "incomplete" }
  /** For the authorization layer; the session is kept. */
  | { readonly kind: "authorization" }
  | { readonly kind: "notOffered" }
  | { readonly kind: "unexpected"; readonly error: SessionResumptionError };

/** `none`: a call ends as unknown outcome, the standalone stream reopens without a cursor. */
export type LossRecovery<Id extends OpaqueId = OpaqueId> =
  | { readonly at: "oldest" | "head"; readonly cursor: Id }
  | { readonly at: "none" };

/** [C K-04] no server keeps a client away for longer than this at a time. */
export const floorMsMax = 300_000;

/**
 * Decide what follows a close.
 *
 * @throws TypeError for a status that is no integer or a cursor that is no id
 */
export function decideClose<Id extends OpaqueId>(
  close: ClosedBy<Id>,
  held: Held<Id>,
): CloseDecision<Id> {
  requireClose({ ...strictClose(close, held), statusCode: statusOf(close) });
  return detail(closeTable[causeOf(close, held)][standingOf(held)], close, held);
}

/**
 * As what a call ends that waits on the stream; null when the decision does not end it. Session
 * and cursor are kept, unless the session is gone. Authorization ends it only if it stays refused.
 */
export function callEndsAs(decision: CloseDecision): OutcomeUnknownReason | null {
  if (decision.kind === "eventsLost" && decision.from.at !== "none") return null;
  return endings[decision.kind];
}

const endings: Readonly<Record<DecisionKind, OutcomeUnknownReason | null>> = {
  resume: null,
  busy: null,
  reissue: null,
  refuse: "unreachable",
  reopen: null,
  eventsLost: "window-expired",
  sessionTerminated: "session-gone",
  sessionEnding: "session-ended",
  complete: null,
  incomplete: "stream-refused",
  authorization: "authorization",
  notOffered: "stream-refused",
  unexpected: "stream-refused",
};

function detail<Id extends OpaqueId>(
  kind: DecisionKind,
  close: ClosedBy<Id>,
  held: Held<Id>,
): CloseDecision<Id> {
  switch (kind) {
    case "resume":
    case "refuse":
      return resumption(close, held);
    case "busy":
      return { kind, cursor: held.cursor, floorMs: floorOf(close, held) };
    case "reissue":
      return { kind, floorMs: floorOf(close, held) };
    case "reopen":
      return { kind, floorMs: floorOf(close, held), usesBudget: usesBudget(close) };
    case "eventsLost":
      return { kind, from: recovery(close, held) };
    case "sessionEnding":
      return { kind, reason: close.kind === "closeEvent" ? close.reason : null };
    case "unexpected":
      return { kind, error: unexpectedClose(nounOf(close), statusOf(close)) };
    case "sessionTerminated":
    case "complete":
    case "incomplete":
    case "authorization":
    case "notOffered":
      return { kind };
  }
}

function resumption<Id extends OpaqueId>(close: ClosedBy<Id>, held: Held<Id>): CloseDecision<Id> {
  const action = judge(strictClose(close, held));
  if (action instanceof SessionResumptionError) return { kind: "refuse", error: action };
  if (action.outcome === "session_terminated") return { kind: "sessionTerminated" };
  const floorMs = floorOf(close, held);
  return { kind: "resume", cursor: action.resumeFrom, floorMs, usesBudget: usesBudget(close) };
}

// The strict pair has no word for 408, 425 and 429; like a reset they say nothing of the session.
function strictClose<Id extends OpaqueId>(close: ClosedBy<Id>, held: Held<Id>): StreamClose<Id> {
  const status = statusOf(close);
  const statusCode = status !== null && isServerError(status) ? status : null;
  return { statusCode, lastEventIdSeen: held.cursor, serverHeadEventId: null };
}

// [C K-08] nothing more than needed is lost. The refused cursor itself is no way out: a server
// that names it would be asked for it for ever.
function recovery<Id extends OpaqueId>(close: ClosedBy<Id>, held: Held<Id>): LossRecovery<Id> {
  if (close.kind !== "status") return { at: "none" };
  const ids = { oldest: close.oldestEventId, head: close.headEventId };
  const order = held.gapRecovery === "head" ? headFirst : oldestFirst;
  for (const at of order) {
    const cursor = ids[at];
    if (cursor !== null && isUsable(cursor) && cursor !== held.cursor) return { at, cursor };
  }
  return { at: "none" };
}

const oldestFirst = ["oldest", "head"] as const;
const headFirst = ["head", "oldest"] as const;

// An id from a body goes into a header next: one that HTTP would change or refuse is none.
function isUsable(id: OpaqueId): boolean {
  return typeof id === "string" ? headerSafe.test(id) : Number.isInteger(id);
}

const headerSafe = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

// [C K-04] both are floors for the next attempt, within reason.
function floorOf<Id extends OpaqueId>(close: ClosedBy<Id>, held: Held<Id>): number {
  const retryAfterMs = close.kind === "status" ? close.retryAfterMs : null;
  const asked = [held.retryMs, retryAfterMs].filter((ms) => ms !== null && ms > 0);
  return Math.min(Math.max(0, ...asked.map(Number)), floorMsMax);
}

// [C K-04] an end that `retry:` announced was no failure.
function usesBudget(close: ClosedBy): boolean {
  return !(close.kind === "eof" && close.isAnnounced);
}

function statusOf(close: ClosedBy): number | null {
  return close.kind === "status" ? close.status : null;
}

function nounOf(close: ClosedBy): string {
  if (close.kind === "status") return `status ${close.status}`;
  if (close.kind !== "notEventStream") return `a close by ${close.kind}`;
  const type = close.contentType === null ? "no content type" : JSON.stringify(close.contentType);
  return `status 200 with ${type} in place of an event stream`;
}
