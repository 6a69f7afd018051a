/** What the application is told: events, never thrown. Shapes alone. */
import type { OutcomeUnknown, ResumeCapability } from "@holdfast/contract";
import type { ParkReason } from "./sessions/session-machine.ts";

export type { ParkReason };

/** Events that this client will not see [C K-08]. */
export interface Gap {
  readonly type: "resume-window-exceeded";
  readonly lane: "call" | "standalone";
  /** Number of the stream, where the server says it. */
  readonly stream: number | null;
  /** The cursor that was held; null for none. */
  readonly from: string | null;
  /** The stream goes on after this event; null: wherever the server begins. */
  readonly to: string | null;
  /** How many; null when that cannot be counted. */
  readonly lostEvents: number | null;
  /** Calls that wait on the stream, by the application's ids. */
  readonly requestIds: readonly (string | number)[];
}

/** A call that may or may not have run; `requestId` is the application's. */
export interface UnknownOutcome extends OutcomeUnknown {
  /** A sentence for a person or a model to read. */
  readonly message: string;
}

export interface SessionEnded {
  readonly sessionId: string | null;
  /** As the server says it: `deleted`, `expired`, `ended`, `unknown`; null when it says nothing. */
  readonly reason: string | null;
}

/** Nothing can be had from the server now; session and cursors are kept [C K-05]. */
export interface Parked {
  readonly why: ParkReason;
  readonly sessionId: string | null;
  /** When it is tried again by itself; a new call tries at once. */
  readonly nextProbeMs: number;
}

/** A guarantee that does not hold with this server, or with these options. */
export interface Shortfall {
  readonly type:
    | "no-session"
    | "no-resume-contract"
    | "no-idempotency"
    | "no-heartbeat"
    | "window-within-reconnect"
    | "memory-log"
    | "memory-state"
    | "server-changed";
  /** What may happen, as a sentence. */
  readonly message: string;
}

export interface ContractReport {
  /** What the server advertises; null: it does not know this contract. */
  readonly capability: ResumeCapability | null;
  /** The longest time in which this client comes back [C W-02]. */
  readonly worstCaseReconnectMs: number;
  readonly shortfalls: readonly Shortfall[];
}
