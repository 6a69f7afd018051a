/**
 * What a stream does when its viewport ended, or could not be had: the decision of the contract
 * [C K-01], with the waiting, counting and giving up that are the client's. Pure.
 */
import {
  type CloseDecision,
  callEndsAs,
  decideClose,
  type Held,
  type OutcomeUnknownReason,
} from "@holdfast/contract";
import { freshBudget, isSpent, nextAttempt, settlingMs } from "./budget.ts";
import type {
  Attempt,
  Moment,
  StreamAction,
  StreamCell,
  StreamRules,
  StreamState,
  StreamStep,
} from "./stream-machine.ts";

/** So many answers of 401 in a row are borne, each with a pause: a refresh may be under way. */
export const refusalsMax = 3;

export const closed: StreamCell<"closed"> = (before, { close, moment }, rules) => {
  const state = judged(before, moment);
  const decision = decideClose(close, heldOf(state, rules, moment));
  const again = { state, rules, moment, floorMs: 0, usesBudget: true, isPrompt: false };
  switch (decision.kind) {
    case "resume":
    case "reopen": {
      const { floorMs, usesBudget } = decision;
      // [C K-02] what passed while nobody looked cannot be told without ids.
      const isGap = decision.kind === "reopen" && state.wasOpen;
      return precede(
        isGap ? [{ do: "gap", from: null, to: { at: "none" } }] : [],
        tryAgain("get", { ...again, floorMs, usesBudget }),
      );
    }
    case "busy":
      return tryAgain("get", { ...again, floorMs: decision.floorMs });
    case "reissue":
      return tryAgain("post", { ...again, floorMs: decision.floorMs });
    case "eventsLost":
      return skipTo(decision, again);
    case "sessionTerminated":
      return held(state, [{ do: "tell", what: { type: "gone" } }]);
    case "sessionEnding":
      return held(state, [{ do: "tell", what: { type: "ending", reason: decision.reason } }]);
    case "complete":
      return over(state);
    case "authorization":
      return refused(close.kind === "status" && close.status === 401, again);
    case "notOffered":
      return state.lane === "standalone" ? over(state) : giveUp(state, "stream-refused");
    case "unexpected":
      return precede([{ do: "report", error: decision.error }], notUnderstood(state));
    case "incomplete":
      // Its events were lost before: so was the response.
      return giveUp(state, state.hasGap ? "window-expired" : "stream-refused");
    case "refuse":
      return giveUp(state, callEndsAs(decision) ?? "unreachable");
  }
};

interface Again {
  readonly state: StreamState;
  readonly rules: StreamRules;
  readonly moment: Moment;
  readonly floorMs: number;
  readonly usesBudget: boolean;
  readonly isPrompt: boolean;
}

/** Wait for the next attempt, or give up [C K-05]. */
export function tryAgain(next: Attempt, again: Again): StreamStep {
  const { state, rules, moment } = again;
  const verdict = nextAttempt(state.budget, rules.policy, { ...again, ...moment });
  const counted = { ...state, next, budget: verdict.budget };
  if (verdict.kind === "wait") {
    return {
      state: { ...counted, at: "waiting" },
      actions: [{ do: "wait", delayMs: verdict.delayMs }],
    };
  }
  const spent: StreamAction = { do: "tell", what: { type: "spent" } };
  if (state.lane === "standalone") return held(counted, [spent]);
  return follow(setAside(counted, "unreachable"), [spent]);
}

/**
 * The call ends here, what is known of its stream is kept: a later success may bring its response
 * as news [C K-05].
 */
export function setAside(state: StreamState, reason: OutcomeUnknownReason): StreamStep {
  if (!state.mayHaveRun) return follow(over(state), [{ do: "fail" }]);
  if (state.cursor === null) return giveUp(state, reason);
  const kept: StreamState = { ...state, at: "held", next: "get", isTold: true };
  const drop: StreamAction = { do: "drop" };
  return {
    state: kept,
    actions: state.isTold ? [drop] : [drop, { do: "endUnknown", reason }],
  };
}

/** The call ends, and its stream. */
export function giveUp(state: StreamState, reason: OutcomeUnknownReason): StreamStep {
  const end: StreamAction = { do: "endUnknown", reason };
  return follow(over(state), state.isTold || state.isSettled ? [] : [end]);
}

export function over(state: StreamState): StreamStep {
  return { state: { ...state, at: "over" }, actions: [{ do: "drop" }] };
}

export function held(state: StreamState, actions: readonly StreamAction[]): StreamStep {
  return { state: { ...state, at: "held", next: "get" }, actions: [{ do: "drop" }, ...actions] };
}

export function follow(step: StreamStep, actions: readonly StreamAction[]): StreamStep {
  return { state: step.state, actions: [...step.actions, ...actions] };
}

function precede(actions: readonly StreamAction[], step: StreamStep): StreamStep {
  return { state: step.state, actions: [...actions, ...step.actions] };
}

/** [C K-04] a viewport that lived resets the budget; an end without headers may have run. */
function judged(state: StreamState, { nowMs }: Moment): StreamState {
  const isSettledIn = state.at === "reading" && nowMs - state.openedMs >= settlingMs;
  return {
    ...state,
    mayHaveRun: true,
    budget: isSettledIn ? freshBudget : state.budget,
  };
}

function heldOf(state: StreamState, rules: StreamRules, { nowMs }: Moment): Held<string> {
  const { lane, cursor, retryMs, isSettled, isSafe } = state;
  const isBudgetSpent = isSpent(state.budget, rules.policy, nowMs);
  const any = { cursor, retryMs, isBudgetSpent, gapRecovery: rules.gapRecovery };
  return lane === "standalone"
    ? { ...any, lane }
    : { ...any, lane, isSettled, isSafeToRepeat: isSafe };
}

/** [C K-08] the gap first, then whatever comes after it. */
function skipTo(
  { from: to }: Extract<CloseDecision<string>, { kind: "eventsLost" }>,
  again: Again,
): StreamStep {
  const before = again.state;
  const gap: StreamAction = { do: "gap", from: before.cursor, to };
  const cursor = to.at === "none" ? null : to.cursor;
  const state = { ...before, cursor, hasGap: true };
  if (to.at !== "none") return precede([gap], tryAgain("get", { ...again, state, isPrompt: true }));
  if (before.lane === "call") return precede([gap], giveUp(state, "window-expired"));
  const isNews = before.cursor !== null || before.wasOpen;
  return precede(isNews ? [gap] : [], tryAgain("get", { ...again, state }));
}

/** [C K-01] 401 may be mended by the time of the next attempt, and is no failure of the network. */
function refused(isMendable: boolean, again: Again): StreamStep {
  const state = { ...again.state, refusals: again.state.refusals + 1 };
  if (isMendable && state.refusals <= refusalsMax) {
    return tryAgain("get", { ...again, state, usesBudget: false });
  }
  const tell: StreamAction = { do: "tell", what: { type: "refused" } };
  const rested = { ...state, refusals: 0 };
  if (state.lane === "standalone") return held(rested, [tell]);
  return follow(setAside(rested, "authorization"), [tell]);
}

/** A standalone stream that once worked is asked for again later; one that never did is not. */
function notUnderstood(state: StreamState): StreamStep {
  if (state.lane === "call") return giveUp(state, "stream-refused");
  const isKnown = state.wasOpen || state.cursor !== null;
  return isKnown ? held(state, [{ do: "tell", what: { type: "stalled" } }]) : over(state);
}
