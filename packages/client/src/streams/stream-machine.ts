/**
 * The machine of one stream, in types: what it is doing, what happens to it, what is to be done.
 * Its cells are in stream-table.ts and stream-close.ts. Pure: no socket, no timer, no clock.
 *
 *     idle ─▶ posting ──opened──▶ reading ──closed──▶ waiting ──due──▶ getting ──opened──▶ reading
 *               └──closed, not run──▶ waiting ──due──▶ posting
 *     held: not now (parked, or the session is being renewed)     over: nothing more to do
 */
import type {
  ClosedBy,
  OutcomeUnknownReason,
  ReconnectPolicy,
  SessionResumptionError,
} from "@holdfast/contract";
import { type Budget, freshBudget } from "./budget.ts";

export type StreamPlace = "idle" | "posting" | "getting" | "reading" | "waiting" | "held" | "over";

/** What the next attempt is made with. */
export type Attempt = "post" | "get";

export interface StreamState {
  readonly at: StreamPlace;
  readonly lane: "call" | "standalone";
  /** Counts while waiting or held. */
  readonly next: Attempt;
  /** Id of the last event that was handed on; null for none. */
  readonly cursor: string | null;
  /** The newest `retry:` of the stream. */
  readonly retryMs: number | null;
  readonly budget: Budget;
  /** Attempts in a row that were answered 401. */
  readonly refusals: number;
  /** When the viewport was opened, monotonic. */
  readonly openedMs: number;
  /** Some viewport of the stream was open. */
  readonly wasOpen: boolean;
  /** The response was handed on, or nobody waits for it any more. */
  readonly isSettled: boolean;
  /** The caller was told that the outcome is unknown; what still comes is news for the ledger. */
  readonly isTold: boolean;
  /** Running twice does no harm; else a refusal of the repetition says nothing of the first run. */
  readonly isHarmless: boolean;
  /** May be sent again in its session [C K-09]. */
  readonly isSafe: boolean;
  /** May be sent again in another session [C K-07]: a key may be known in its own alone. */
  readonly isSafeAcross: boolean;
  /** Has a meaning in its own session alone: an answer, a cancellation. */
  readonly isBound: boolean;
  /** Events of the stream are lost; its response may be among them. */
  readonly hasGap: boolean;
  /** Went out once more after a 404 [C K-07]. */
  readonly isResent: boolean;
  /** False while every POST of it was answered by a refusal that proves that nothing ran. */
  readonly mayHaveRun: boolean;
}

/** Time and chance of an event. */
export interface Moment {
  /** Monotonic. */
  readonly nowMs: number;
  /** 0 ≤ fraction < 1. */
  readonly fraction: number;
}

export type StreamEvent =
  | { readonly type: "start"; readonly attempt: Attempt }
  /** The session is not ready for it: wait to be released. */
  | { readonly type: "queue"; readonly attempt: Attempt }
  /** An event stream is open. */
  | { readonly type: "opened"; readonly moment: Moment }
  /** A message was handed on. */
  | { readonly type: "delivered" }
  /** An id has passed; null: the server took the cursor back. */
  | { readonly type: "moved"; readonly cursor: string | null }
  | { readonly type: "retry"; readonly ms: number }
  /** The response was handed on, or the call was cancelled. */
  | { readonly type: "settled" }
  /** A POST was answered whole, without a stream. */
  | { readonly type: "answered" }
  /** The viewport ended, or an attempt to open one failed. */
  | { readonly type: "closed"; readonly close: ClosedBy<string>; readonly moment: Moment }
  /** The POST did certainly not run, and may be sent again [C K-09]. */
  | { readonly type: "notRun"; readonly floorMs: number; readonly moment: Moment }
  /** The POST was refused for good. */
  | {
      readonly type: "rejected";
      readonly reason: OutcomeUnknownReason;
      /** False: it may have run before somebody refused it. */
      readonly isProof: boolean;
    }
  /** The POST was answered 404: the session is gone, the request did not run. */
  | { readonly type: "notFound" }
  | { readonly type: "due" }
  /** The transport parks [C K-05]. */
  | { readonly type: "park" }
  /** Safe: whether it may be sent again in the session that it goes to now. */
  | { readonly type: "release"; readonly isSafe?: boolean }
  | {
      readonly type: "sessionOver";
      readonly reason: OutcomeUnknownReason;
      /** What is safe goes out once more in the session to come. */
      readonly mayRepeat: boolean;
    }
  | { readonly type: "stop" };

export type StreamEventType = StreamEvent["type"];

/** What the driver is to do, in this order. */
export type StreamAction =
  | { readonly do: "post" }
  | { readonly do: "get"; readonly cursor: string | null }
  | { readonly do: "wait"; readonly delayMs: number }
  /** Give up the exchange and the timer, if there are any. */
  | { readonly do: "drop" }
  /** The call ends as unknown outcome. */
  | { readonly do: "endUnknown"; readonly reason: OutcomeUnknownReason }
  /** The call did not run and will not: it ends with the last refusal as its error. */
  | { readonly do: "fail" }
  | { readonly do: "gap"; readonly from: string | null; readonly to: GapEnd }
  | { readonly do: "report"; readonly error: SessionResumptionError }
  | { readonly do: "tell"; readonly what: StreamNews };

/** Where a stream goes on after a gap. */
export type GapEnd =
  | { readonly at: "oldest" | "head"; readonly cursor: string }
  | { readonly at: "none" };

/** What a stream has found out that concerns its session. */
export type StreamNews =
  /** The server answers. */
  | { readonly type: "contact" }
  | { readonly type: "gone" }
  /** It waits for a session to go out in. */
  | { readonly type: "awaited" }
  | { readonly type: "ending"; readonly reason: string | null }
  /** The budget is used up [C K-05]. */
  | { readonly type: "spent" }
  /** The credentials are not accepted, and stay so. */
  | { readonly type: "refused" }
  /** The standalone stream cannot go on now; the session can. */
  | { readonly type: "stalled" };

export interface StreamStep {
  readonly state: StreamState;
  readonly actions: readonly StreamAction[];
}

/** The rules that a stream goes by. */
export interface StreamRules {
  readonly policy: ReconnectPolicy;
  readonly gapRecovery: "oldest" | "head";
  /** How long a stream is left open after its response. */
  readonly lingerMs: number;
}

/** What a cell of the table is. */
export type StreamCell<Type extends StreamEventType> = (
  state: StreamState,
  event: Extract<StreamEvent, { readonly type: Type }>,
  rules: StreamRules,
) => StreamStep;

export type StreamRow = { readonly [Type in StreamEventType]: StreamCell<Type> };

/** A stream before anything happened to it. */
export function newStream(
  facts: Pick<
    StreamState,
    "lane" | "cursor" | "isHarmless" | "isSafe" | "isSafeAcross" | "isBound"
  >,
): StreamState {
  return {
    ...facts,
    at: "idle",
    next: "get",
    retryMs: null,
    budget: freshBudget,
    refusals: 0,
    openedMs: 0,
    wasOpen: false,
    isSettled: false,
    isTold: false,
    hasGap: false,
    isResent: false,
    mayHaveRun: false,
  };
}
