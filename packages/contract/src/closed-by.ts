/** The facts that a decision on a closed stream rests on [C K-01]: what closed it, what is held. */
import type { OpaqueId } from "./close.ts";

/** What ended a viewport, or refused one. */
export type ClosedBy<Id extends OpaqueId = OpaqueId> =
  /** The connection broke, or never came about. */
  | { readonly kind: "reset" }
  /** No byte for too long [C K-12]. */
  | { readonly kind: "timeout" }
  /** A clean end of the body. Announced: a `retry:` was the last thing before it [C K-04]. */
  | { readonly kind: "eof"; readonly isAnnounced: boolean }
  /** `event: close`, with the reason in its data. */
  | { readonly kind: "closeEvent"; readonly reason: string | null }
  /** 200, but no `text/event-stream`. */
  | { readonly kind: "notEventStream"; readonly contentType: string | null }
  | RefusedBy<Id>;

/** A status other than 200, with what its body and headers say. */
export interface RefusedBy<Id extends OpaqueId = OpaqueId> {
  readonly kind: "status";
  readonly status: number;
  /** `error.data.type` of the body, where it has one. */
  readonly type: string | null;
  readonly oldestEventId: Id | null;
  readonly headEventId: Id | null;
  /** `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | null;
}

interface HeldOfAny<Id extends OpaqueId> {
  /** Id of the last event that was handed on; null: the stream never had an id. */
  readonly cursor: Id | null;
  /** The newest `retry:` of the stream; null for none. */
  readonly retryMs: number | null;
  /** Attempts or time are used up [C K-05]. */
  readonly isBudgetSpent: boolean;
  /** Where to go on when events are lost, if the server leaves the choice [C K-08]. */
  readonly gapRecovery: "oldest" | "head";
}

export interface HeldOfStandalone<Id extends OpaqueId = OpaqueId> extends HeldOfAny<Id> {
  readonly lane: "standalone";
}

export interface HeldOfCall<Id extends OpaqueId = OpaqueId> extends HeldOfAny<Id> {
  readonly lane: "call";
  /** The response has come, or nobody waits for it any more (cancelled). */
  readonly isSettled: boolean;
  /** Read-only or idempotent by its annotations, or under a key that the server keeps. */
  readonly isSafeToRepeat: boolean;
}

/** What the client holds of the stream. */
export type Held<Id extends OpaqueId = OpaqueId> = HeldOfStandalone<Id> | HeldOfCall<Id>;
