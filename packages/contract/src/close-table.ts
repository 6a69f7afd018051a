/**
 * The table of K-01: what closed a stream × how the client stands to it -> kind of decision. Total
 * over closed unions, so that a missing cell does not compile; data alone, so that it can be read.
 */
import { isServerError, type OpaqueId } from "./close.ts";
import type { ClosedBy, Held, RefusedBy } from "./closed-by.ts";

export type DecisionKind =
  | "resume"
  | "busy"
  | "reissue"
  | "refuse"
  | "reopen"
  | "eventsLost"
  | "sessionTerminated"
  | "sessionEnding"
  | "complete"
  | "incomplete"
  | "authorization"
  | "notOffered"
  | "unexpected";

/** What closed the stream, as far as it makes a difference. */
export type CloseCause =
  | "reset"
  | "timeout"
  | "eof"
  | "serverError"
  | "requestTimeout"
  | "tooEarly"
  | "tooManyRequests"
  | "notFound"
  | "gone"
  | "conflict"
  | "lastingConflict"
  | "closeEvent"
  | "noContent"
  | "unauthorized"
  | "forbidden"
  | "methodNotAllowed"
  | "notEventStream"
  | "otherStatus";

/** How the client stands to the stream. "Bare": no id ever came on it. */
export type Standing =
  | "call"
  | "bareSafeCall"
  | "bareCall"
  | "settledCall"
  | "standalone"
  | "bareStandalone";

type Row = Readonly<Record<Standing, DecisionKind>>;

// [C K-01] keep the session, resume from the cursor; [C K-02] never without one.
const reconnect: Row = {
  call: "resume",
  bareSafeCall: "reissue",
  bareCall: "refuse",
  settledCall: "complete",
  standalone: "resume",
  bareStandalone: "reopen",
};

/** What holds for every stream that still has something to wait for. */
function waiting(kind: DecisionKind): Row {
  return { ...whatever(kind), settledCall: "complete" };
}

/** What concerns the whole session, whatever the stream. */
function whatever(kind: DecisionKind): Row {
  return {
    call: kind,
    bareSafeCall: kind,
    bareCall: kind,
    settledCall: kind,
    standalone: kind,
    bareStandalone: kind,
  };
}

export const closeTable: Readonly<Record<CloseCause, Row>> = {
  reset: reconnect,
  timeout: reconnect,
  eof: reconnect,
  serverError: reconnect,
  requestTimeout: reconnect,
  tooEarly: reconnect,
  tooManyRequests: reconnect,
  notFound: whatever("sessionTerminated"),
  gone: waiting("eventsLost"),
  // [C K-01] servers in the field say 409 for a half-open stream: nothing is lost yet.
  conflict: { ...reconnect, call: "busy", standalone: "busy", bareStandalone: "busy" },
  lastingConflict: waiting("eventsLost"),
  closeEvent: whatever("sessionEnding"),
  noContent: { ...waiting("incomplete"), standalone: "complete", bareStandalone: "complete" },
  unauthorized: waiting("authorization"),
  forbidden: waiting("authorization"),
  methodNotAllowed: waiting("notOffered"),
  notEventStream: waiting("unexpected"),
  otherStatus: waiting("unexpected"),
};

export function causeOf<Id extends OpaqueId>(close: ClosedBy<Id>, held: Held<Id>): CloseCause {
  if (close.kind !== "status") return close.kind;
  const cause = causeOfStatus(close);
  return cause === "conflict" && held.isBudgetSpent ? "lastingConflict" : cause;
}

export function standingOf<Id extends OpaqueId>(held: Held<Id>): Standing {
  const isBare = held.cursor === null;
  if (held.lane === "standalone") return isBare ? "bareStandalone" : "standalone";
  if (held.isSettled) return "settledCall";
  if (!isBare) return "call";
  return held.isSafeToRepeat ? "bareSafeCall" : "bareCall";
}

function causeOfStatus({ status, type }: Pick<RefusedBy, "status" | "type">): CloseCause {
  const isClientError = status >= 400 && status <= 499;
  if (isClientError && type === "resume-window-exceeded") return "gone";
  if (isServerError(status)) return "serverError";
  return namedStatuses.get(status) ?? "otherStatus";
}

const namedStatuses: ReadonlyMap<number, CloseCause> = new Map([
  [204, "noContent"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "notFound"],
  [405, "methodNotAllowed"],
  [408, "requestTimeout"],
  [409, "conflict"],
  [410, "gone"],
  [425, "tooEarly"],
  [429, "tooManyRequests"],
]);
