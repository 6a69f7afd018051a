/**
 * The table of a stream: every place × every event. Total over closed unions, so that a missing
 * cell does not compile. What a close means is in stream-close.ts.
 */
import { freshBudget } from "./budget.ts";
import { closed, follow, giveUp, held, over, setAside, tryAgain } from "./stream-close.ts";
import type {
  Attempt,
  StreamAction,
  StreamCell,
  StreamEvent,
  StreamEventType,
  StreamPlace,
  StreamRow,
  StreamRules,
  StreamState,
  StreamStep,
} from "./stream-machine.ts";

/** What becomes of a stream by an event. */
export function stepStream(state: StreamState, event: StreamEvent, rules: StreamRules): StreamStep {
  // The row's cell takes just this type of event: that is what the table's type says.
  const cell = streamTable[state.at][event.type] as StreamCell<StreamEventType>;
  return cell(state, event, rules);
}

const stay = (state: StreamState): StreamStep => ({ state, actions: [] });

/** What is noted wherever the stream is. */
const noting: Pick<StreamRow, "moved" | "retry"> = {
  moved: (state, { cursor }) => ({ state: { ...state, cursor }, actions: [] }),
  retry: (state, { ms }) => ({ state: { ...state, retryMs: ms }, actions: [] }),
};

/** Nothing is owed any more: no further attempt. */
const settleNow = (state: StreamState): StreamStep => over({ ...state, isSettled: true });

const stop = (state: StreamState): StreamStep => over(state);

const awaited: StreamAction = { do: "tell", what: { type: "awaited" } };

const contact: StreamAction = { do: "tell", what: { type: "contact" } };

const opened: StreamCell<"opened"> = (state, { moment }, { lingerMs }) => ({
  state: {
    ...state,
    ...{ at: "reading", openedMs: moment.nowMs, wasOpen: true, refusals: 0, mayHaveRun: true },
  },
  actions: state.isSettled ? [contact, { do: "wait", delayMs: lingerMs }] : [contact],
});

/** [C K-04] a stream that delivered something has its whole budget again. */
const delivered = (state: StreamState): StreamStep => ({
  state: { ...state, budget: freshBudget },
  actions: [],
});

function attempt(state: StreamState, next: Attempt): StreamStep {
  if (next === "post") return { state: { ...state, at: "posting" }, actions: [{ do: "post" }] };
  return { state: { ...state, at: "getting" }, actions: [{ do: "get", cursor: state.cursor }] };
}

const goOn = (state: StreamState): StreamStep => attempt(state, state.next);

const release: StreamCell<"release"> = (state, { isSafe = state.isSafe }) =>
  // [C K-07] the server that answers now may keep no keys, or others.
  state.next === "post" && state.mayHaveRun && !isSafe
    ? giveUp(state, "session-gone")
    : attempt({ ...state, isSafe }, state.next);

/** [C K-05] calls that wait end; the standalone stream keeps its cursor. */
const park = (state: StreamState): StreamStep =>
  state.lane === "standalone" ? held(state, []) : setAside(state, "unreachable");

/** [C K-07] What ran, or may have, ends or goes out once more; what did not waits for its turn. */
const leave: StreamCell<"sessionOver"> = (state, { reason, mayRepeat }) => {
  if (state.lane === "standalone" || state.isSettled || state.isTold) return over(state);
  if (isUnrun(state) || (!state.isBound && mayRepeat && state.isSafeAcross)) return queue(state);
  return giveUp(state, reason);
};

/** Nothing of it has run: it may go out in another session. */
const isUnrun = ({ mayHaveRun, next, isBound }: StreamState): boolean =>
  !mayHaveRun && next === "post" && !isBound;

/** Wait for the session to come; nothing of the old one counts in it. */
function queue(state: StreamState): StreamStep {
  const queued: StreamState = { ...state, at: "held", next: "post", cursor: null };
  return { state: { ...queued, budget: freshBudget }, actions: [{ do: "drop" }] };
}

const idle: StreamRow = {
  ...noting,
  start: (state, event) => attempt({ ...state, next: event.attempt }, event.attempt),
  queue: (state, event) => ({
    state: { ...state, at: "held", next: event.attempt },
    actions: [awaited],
  }),
  // A call of an earlier process, of which no id is known.
  closed,
  settled: settleNow,
  sessionOver: leave,
  stop,
  opened: stay,
  delivered: stay,
  answered: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
  due: stay,
  park: stay,
  release: stay,
};

const posting: StreamRow = {
  ...noting,
  opened,
  delivered,
  settled: (state) => ({ state: { ...state, isSettled: true }, actions: [] }),
  answered: (state) =>
    follow(state.isSettled ? over(state) : giveUp(state, "stream-refused"), [contact]),
  closed,
  notRun: (state, { floorMs, moment }, rules) =>
    state.isSettled
      ? over(state)
      : tryAgain("post", { state, rules, moment, floorMs, usesBudget: true, isPrompt: false }),
  rejected: (state, { reason, isProof }) => {
    if (state.isSettled) return over(state);
    // A refusal of the repetition says nothing of an attempt before it.
    const mayHaveRun = state.mayHaveRun || !isProof;
    if (mayHaveRun && !state.isHarmless) return giveUp({ ...state, mayHaveRun }, reason);
    return follow(over(state), [{ do: "fail" }]);
  },
  notFound: (state) => {
    const tell: StreamAction = { do: "tell", what: { type: "gone" } };
    if (state.isSettled) return follow(over(state), [tell]);
    // [C K-07] once more, and no more than that.
    const isOnceMore = !state.isResent && !state.isBound;
    if (isOnceMore && (!state.mayHaveRun || state.isSafeAcross)) {
      return follow(queue({ ...state, isResent: true }), [tell]);
    }
    return state.mayHaveRun && !state.isHarmless
      ? follow(giveUp(state, "session-gone"), [tell])
      : follow(over(state), [{ do: "fail" }, tell]);
  },
  // Its own answer will say what became of it; a key counts in the session alone.
  sessionOver: (state, { mayRepeat }) => ({
    state: { ...state, isSafe: mayRepeat && state.isSafeAcross },
    actions: [],
  }),
  // Its session went since it was scheduled: somebody has to ask for another.
  queue: (state) => follow(queue(state), [awaited]),
  stop,
  start: stay,
  due: stay,
  park: stay,
  release: stay,
};

const getting: StreamRow = {
  ...noting,
  opened,
  delivered,
  settled: settleNow,
  closed,
  park,
  sessionOver: leave,
  stop,
  start: stay,
  queue: stay,
  answered: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
  due: stay,
  release: stay,
};

const reading: StreamRow = {
  ...noting,
  delivered,
  // [C E-10] the server ends the stream after the response; a connection that ends is used again.
  settled: (state, _event, { lingerMs }) => ({
    state: { ...state, isSettled: true },
    actions: state.isSettled ? [] : [{ do: "wait", delayMs: lingerMs }],
  }),
  due: (state) => (state.isSettled ? over(state) : { state, actions: [] }),
  closed,
  sessionOver: leave,
  stop,
  start: stay,
  queue: stay,
  opened: stay,
  answered: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
  // It lives: no reason to end what waits on it.
  park: stay,
  release: stay,
};

const waiting: StreamRow = {
  ...noting,
  due: goOn,
  settled: settleNow,
  park,
  // [C K-09] what did not run keeps to what the answer asked for, in whichever session.
  sessionOver: (state, event, rules) =>
    isUnrun(state)
      ? { state: { ...state, isSafe: state.isSafeAcross }, actions: [] }
      : leave(state, event, rules),
  release: (state, { isSafe = state.isSafe }) => ({ state: { ...state, isSafe }, actions: [] }),
  stop,
  start: stay,
  queue: stay,
  opened: stay,
  delivered: stay,
  answered: stay,
  closed: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
};

const heldRow: StreamRow = {
  ...noting,
  release,
  settled: settleNow,
  park,
  sessionOver: leave,
  stop,
  start: stay,
  queue: stay,
  opened: stay,
  delivered: stay,
  answered: stay,
  closed: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
  due: stay,
};

const overRow: StreamRow = {
  start: stay,
  queue: stay,
  opened: stay,
  delivered: stay,
  moved: stay,
  retry: stay,
  settled: stay,
  answered: stay,
  closed: stay,
  notRun: stay,
  rejected: stay,
  notFound: stay,
  due: stay,
  park: stay,
  release: stay,
  sessionOver: stay,
  stop: stay,
};

export const streamTable: Readonly<Record<StreamPlace, StreamRow>> = {
  idle,
  posting,
  getting,
  reading,
  waiting,
  held: heldRow,
  over: overRow,
};
