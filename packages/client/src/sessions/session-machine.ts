/**
 * The machine of a session, in types: its cells are in session-table.ts. Pure.
 *
 *     none ──initialize──▶ opening ──established──▶ open ──gone──▶ renewing ──established──▶ open
 *       └─(a stored session)─▶ checking ──confirmed──▶ open          └──failed──▶ parked
 *     open ──spent──▶ parked ──contact──▶ open        open ──event: close──▶ ended ──demand──▶ renewing
 */
import type { OutcomeUnknownReason } from "@holdfast/contract";

export type SessionPlace =
  | "none"
  | "opening"
  | "checking"
  | "open"
  | "renewing"
  | "parked"
  | "ended"
  | "closed";

export interface SessionState {
  readonly at: SessionPlace;
  /** There is a session that the next attempt can be made in. */
  readonly hasSession: boolean;
  /** It is parked, or tries to come out of it. */
  readonly isParked: boolean;
  /** Re-initializations in a row without a served request [C K-07]. */
  readonly renewals: number;
}

export type ParkReason = "unreachable" | "authorization" | "renewals";

export type SessionEvent =
  /** The application initializes; known: with the parameters of the stored session. */
  | { readonly type: "initialize"; readonly isKnown: boolean }
  /** The stored session answers. */
  | { readonly type: "confirmed" }
  /** The stored session is refused, in a way that does not say that it is gone. */
  | { readonly type: "unconfirmed" }
  | { readonly type: "established" }
  /** What was under way to have a session has failed. */
  | { readonly type: "failed"; readonly why: ParkReason }
  /** A request waits for a session. */
  | { readonly type: "demand" }
  | { readonly type: "gone" }
  | { readonly type: "ending"; readonly reason: string | null }
  /** A stream gave up; alive: another one is being read. */
  | { readonly type: "spent"; readonly isAlive: boolean }
  | { readonly type: "refused"; readonly isAlive: boolean }
  | { readonly type: "stalled" }
  | { readonly type: "contact" }
  /** A request of the application was accepted. */
  | { readonly type: "served" }
  | { readonly type: "probeDue" }
  /** The application has ended the session. */
  | { readonly type: "terminated" }
  | { readonly type: "close" };

export type SessionEventType = SessionEvent["type"];

export type SessionAction =
  /** POST the application's initialize; the session before it, if any, is drained. */
  | { readonly do: "establish" }
  /** Ask whether the stored session lives. */
  | { readonly do: "check" }
  /** Answer initialize from what is stored, and re-attach every stream [C K-10]. */
  | { readonly do: "adopt" }
  /** POST initialize again, with the stored parameters [C K-07]. */
  | { readonly do: "renew" }
  /** The new session stands: what was set in the old one, then what waits. */
  | { readonly do: "restore" }
  | {
      readonly do: "endStreams";
      readonly reason: OutcomeUnknownReason;
      readonly mayRepeat: boolean;
    }
  | { readonly do: "tellEnded"; readonly reason: string | null }
  | { readonly do: "park"; readonly why: ParkReason; readonly isNews: boolean }
  /** There will be no session: what waits for one ends. */
  | { readonly do: "failQueue" }
  | { readonly do: "resume" }
  /** Try the same session once; nothing depends on the answer. */
  | { readonly do: "probe" }
  | { readonly do: "probeLater" }
  | { readonly do: "stop" };

export interface SessionStep {
  readonly state: SessionState;
  readonly actions: readonly SessionAction[];
}

export type SessionCell<Type extends SessionEventType> = (
  state: SessionState,
  event: Extract<SessionEvent, { readonly type: Type }>,
) => SessionStep;

export type SessionRow = { readonly [Type in SessionEventType]: SessionCell<Type> };

export const noSession: SessionState = {
  at: "none",
  hasSession: false,
  isParked: false,
  renewals: 0,
};
