/** Every cell of a stream's table, written out so that it shares nothing with the table. */
import { defaultReconnectPolicy } from "@holdfast/contract";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import {
  newStream,
  type StreamEvent,
  type StreamEventType,
  type StreamPlace,
  type StreamState,
} from "./stream-machine.ts";
import { stepStream } from "./stream-table.ts";

const moment = { nowMs: 5_000, fraction: 0.5 };
const rules = { policy: defaultReconnectPolicy, gapRecovery: "oldest", lingerMs: 2_000 } as const;

const events: { readonly [Type in StreamEventType]: Extract<StreamEvent, { type: Type }> } = {
  start: { type: "start", attempt: "post" },
  queue: { type: "queue", attempt: "post" },
  opened: { type: "opened", moment },
  delivered: { type: "delivered" },
  moved: { type: "moved", cursor: "c6" },
  retry: { type: "retry", ms: 9 },
  settled: { type: "settled" },
  answered: { type: "answered" },
  closed: { type: "closed", close: { kind: "reset" }, moment },
  notRun: { type: "notRun", floorMs: 0, moment },
  rejected: { type: "rejected", reason: "stream-refused", isProof: true },
  notFound: { type: "notFound" },
  due: { type: "due" },
  park: { type: "park" },
  release: { type: "release" },
  sessionOver: { type: "sessionOver", reason: "session-gone", mayRepeat: true },
  stop: { type: "stop" },
};

const call: StreamState = {
  ...newStream({
    lane: "call",
    cursor: "c5",
    isHarmless: false,
    isSafe: false,
    isSafeAcross: false,
    isBound: false,
  }),
  mayHaveRun: true,
};
const standalone: StreamState = { ...call, lane: "standalone" };

/** `place action action:detail …` */
function outcome(state: StreamState, event: StreamEvent): string {
  const step = stepStream(state, event, rules);
  const actions = step.actions.map((action) => {
    if (action.do === "tell") return `tell:${action.what.type}`;
    return action.do === "endUnknown" ? `endUnknown:${action.reason}` : action.do;
  });
  return [step.state.at, ...actions].join(" ");
}

type Cells = Readonly<Record<StreamPlace, Readonly<Record<StreamEventType, string>>>>;

// A call that may have run, is not safe to repeat, and has a cursor.
const callCells: Cells = {
  idle: {
    start: "posting post",
    queue: "held tell:awaited",
    opened: "idle",
    delivered: "idle",
    moved: "idle",
    retry: "idle",
    settled: "over drop",
    answered: "idle",
    closed: "waiting wait",
    notRun: "idle",
    rejected: "idle",
    notFound: "idle",
    due: "idle",
    park: "idle",
    release: "idle",
    sessionOver: "over drop endUnknown:session-gone",
    stop: "over drop",
  },
  posting: {
    start: "posting",
    queue: "held drop tell:awaited",
    opened: "reading tell:contact",
    delivered: "posting",
    moved: "posting",
    retry: "posting",
    settled: "posting",
    answered: "over drop endUnknown:stream-refused tell:contact",
    closed: "waiting wait",
    notRun: "waiting wait",
    rejected: "over drop endUnknown:stream-refused",
    notFound: "over drop endUnknown:session-gone tell:gone",
    due: "posting",
    park: "posting",
    release: "posting",
    sessionOver: "posting",
    stop: "over drop",
  },
  getting: {
    start: "getting",
    queue: "getting",
    opened: "reading tell:contact",
    delivered: "getting",
    moved: "getting",
    retry: "getting",
    settled: "over drop",
    answered: "getting",
    closed: "waiting wait",
    notRun: "getting",
    rejected: "getting",
    notFound: "getting",
    due: "getting",
    park: "held drop endUnknown:unreachable",
    release: "getting",
    sessionOver: "over drop endUnknown:session-gone",
    stop: "over drop",
  },
  reading: {
    start: "reading",
    queue: "reading",
    opened: "reading",
    delivered: "reading",
    moved: "reading",
    retry: "reading",
    settled: "reading wait",
    answered: "reading",
    closed: "waiting wait",
    notRun: "reading",
    rejected: "reading",
    notFound: "reading",
    due: "reading",
    park: "reading",
    release: "reading",
    sessionOver: "over drop endUnknown:session-gone",
    stop: "over drop",
  },
  waiting: {
    start: "waiting",
    queue: "waiting",
    opened: "waiting",
    delivered: "waiting",
    moved: "waiting",
    retry: "waiting",
    settled: "over drop",
    answered: "waiting",
    closed: "waiting",
    notRun: "waiting",
    rejected: "waiting",
    notFound: "waiting",
    due: "getting get",
    park: "held drop endUnknown:unreachable",
    release: "waiting",
    sessionOver: "over drop endUnknown:session-gone",
    stop: "over drop",
  },
  held: {
    start: "held",
    queue: "held",
    opened: "held",
    delivered: "held",
    moved: "held",
    retry: "held",
    settled: "over drop",
    answered: "held",
    closed: "held",
    notRun: "held",
    rejected: "held",
    notFound: "held",
    due: "held",
    park: "held drop endUnknown:unreachable",
    release: "getting get",
    sessionOver: "over drop endUnknown:session-gone",
    stop: "over drop",
  },
  over: {
    start: "over",
    queue: "over",
    opened: "over",
    delivered: "over",
    moved: "over",
    retry: "over",
    settled: "over",
    answered: "over",
    closed: "over",
    notRun: "over",
    rejected: "over",
    notFound: "over",
    due: "over",
    park: "over",
    release: "over",
    sessionOver: "over",
    stop: "over",
  },
};

const standaloneCells: Cells = {
  idle: {
    start: "posting post",
    queue: "held tell:awaited",
    opened: "idle",
    delivered: "idle",
    moved: "idle",
    retry: "idle",
    settled: "over drop",
    answered: "idle",
    closed: "waiting wait",
    notRun: "idle",
    rejected: "idle",
    notFound: "idle",
    due: "idle",
    park: "idle",
    release: "idle",
    sessionOver: "over drop",
    stop: "over drop",
  },
  posting: {
    start: "posting",
    queue: "held drop tell:awaited",
    opened: "reading tell:contact",
    delivered: "posting",
    moved: "posting",
    retry: "posting",
    settled: "posting",
    answered: "over drop endUnknown:stream-refused tell:contact",
    closed: "waiting wait",
    notRun: "waiting wait",
    rejected: "over drop endUnknown:stream-refused",
    notFound: "over drop endUnknown:session-gone tell:gone",
    due: "posting",
    park: "posting",
    release: "posting",
    sessionOver: "posting",
    stop: "over drop",
  },
  getting: {
    start: "getting",
    queue: "getting",
    opened: "reading tell:contact",
    delivered: "getting",
    moved: "getting",
    retry: "getting",
    settled: "over drop",
    answered: "getting",
    closed: "waiting wait",
    notRun: "getting",
    rejected: "getting",
    notFound: "getting",
    due: "getting",
    park: "held drop",
    release: "getting",
    sessionOver: "over drop",
    stop: "over drop",
  },
  reading: {
    start: "reading",
    queue: "reading",
    opened: "reading",
    delivered: "reading",
    moved: "reading",
    retry: "reading",
    settled: "reading wait",
    answered: "reading",
    closed: "waiting wait",
    notRun: "reading",
    rejected: "reading",
    notFound: "reading",
    due: "reading",
    park: "reading",
    release: "reading",
    sessionOver: "over drop",
    stop: "over drop",
  },
  waiting: {
    start: "waiting",
    queue: "waiting",
    opened: "waiting",
    delivered: "waiting",
    moved: "waiting",
    retry: "waiting",
    settled: "over drop",
    answered: "waiting",
    closed: "waiting",
    notRun: "waiting",
    rejected: "waiting",
    notFound: "waiting",
    due: "getting get",
    park: "held drop",
    release: "waiting",
    sessionOver: "over drop",
    stop: "over drop",
  },
  held: {
    start: "held",
    queue: "held",
    opened: "held",
    delivered: "held",
    moved: "held",
    retry: "held",
    settled: "over drop",
    answered: "held",
    closed: "held",
    notRun: "held",
    rejected: "held",
    notFound: "held",
    due: "held",
    park: "held drop",
    release: "getting get",
    sessionOver: "over drop",
    stop: "over drop",
  },
  over: {
    start: "over",
    queue: "over",
    opened: "over",
    delivered: "over",
    moved: "over",
    retry: "over",
    settled: "over",
    answered: "over",
    closed: "over",
    notRun: "over",
    rejected: "over",
    notFound: "over",
    due: "over",
    park: "over",
    release: "over",
    sessionOver: "over",
    stop: "over",
  },
};

const lanes = { call, standalone };
const tables = { call: callCells, standalone: standaloneCells };

const cells = (["call", "standalone"] as const).flatMap((lane) =>
  Object.entries(tables[lane]).flatMap(([place, row]) =>
    Object.entries(row).map(([type, expected]) => ({ lane, place, type, expected })),
  ),
);

describe("the table of a stream", () => {
  test.each(cells)(`${verifies("K-01")}$lane, $place × $type: $expected`, (cell) => {
    const state = { ...lanes[cell.lane], at: cell.place as StreamPlace };
    expect(outcome(state, events[cell.type as StreamEventType])).toBe(cell.expected);
  });

  const across = { ...call, isSafe: true, isSafeAcross: true };
  const safe = { ...across, isHarmless: true };
  const keyed = { ...call, isSafe: true };
  const unrun = { ...call, mayHaveRun: false, cursor: null, next: "post" } as const;
  const bare = { ...call, cursor: null };

  test.each([
    [
      "K-09",
      "a POST that died, unsafe",
      bare,
      "posting",
      "closed",
      "over drop endUnknown:unreachable",
    ],
    [
      "K-09",
      "a POST that died, safe",
      { ...safe, cursor: null },
      "posting",
      "closed",
      "waiting wait",
    ],
    [
      "K-09",
      "a POST that died, keyed",
      { ...keyed, cursor: null },
      "posting",
      "closed",
      "waiting wait",
    ],
    ["K-09", "refused, never ran", unrun, "posting", "rejected", "over drop fail"],
    ["K-09", "refused, safe, ran before", safe, "posting", "rejected", "over drop fail"],
    [
      "K-09",
      "refused, keyed for every session, ran before",
      across,
      "posting",
      "rejected",
      "over drop endUnknown:stream-refused",
    ],
    ["K-07", "404, never ran", unrun, "posting", "notFound", "held drop tell:gone"],
    [
      "K-07",
      "404 a second time",
      { ...unrun, isResent: true },
      "posting",
      "notFound",
      "over drop fail tell:gone",
    ],
    [
      "K-07",
      "404, bound to its session",
      { ...unrun, isBound: true },
      "posting",
      "notFound",
      "over drop fail tell:gone",
    ],
    [
      "K-07",
      "404 of a keyed repetition",
      keyed,
      "posting",
      "notFound",
      "over drop endUnknown:session-gone tell:gone",
    ],
    [
      "K-07",
      "404 a second time, keyed for every session, ran before",
      { ...across, isResent: true },
      "posting",
      "notFound",
      "over drop endUnknown:session-gone tell:gone",
    ],
    ["K-07", "404 of a safe repetition", safe, "posting", "notFound", "held drop tell:gone"],
    ["K-07", "the session is gone, safe", safe, "reading", "sessionOver", "held drop"],
    [
      "K-07",
      "the session is gone, keyed",
      keyed,
      "reading",
      "sessionOver",
      "over drop endUnknown:session-gone",
    ],
    ["K-09", "the session is gone, never ran", unrun, "waiting", "sessionOver", "waiting"],
    ["K-07", "the session is gone, queued", unrun, "held", "sessionOver", "held drop"],
    [
      "K-07",
      "the session is gone, settled",
      { ...call, isSettled: true },
      "reading",
      "sessionOver",
      "over drop",
    ],
    ["K-05", "parked, never ran", unrun, "waiting", "park", "over drop fail"],
    ["K-05", "parked, told before", { ...call, isTold: true }, "held", "park", "held drop"],
    [
      "K-05",
      "parked, without a cursor",
      bare,
      "waiting",
      "park",
      "over drop endUnknown:unreachable",
    ],
    [
      "K-01",
      "answered, settled",
      { ...call, isSettled: true },
      "posting",
      "answered",
      "over drop tell:contact",
    ],
    [
      "K-01",
      "cut after the response",
      { ...call, isSettled: true },
      "reading",
      "closed",
      "over drop",
    ],
    [
      "K-01",
      "left open after the response",
      { ...call, isSettled: true },
      "reading",
      "due",
      "over drop",
    ],
  ] as const)(
    `${verifies("K-05", "K-07", "K-09")}%s: %s`,
    (_clause, _what, state, at, type, expected) => {
      expect(outcome({ ...state, at }, events[type])).toBe(expected);
    },
  );

  test(`${verifies("K-07")}a session that was ended takes what is safe with it, too`, () => {
    const event = { ...events.sessionOver, reason: "session-ended", mayRepeat: false } as const;
    expect(outcome({ ...safe, at: "reading" }, event)).toBe("over drop endUnknown:session-ended");
    expect(outcome({ ...unrun, at: "waiting" }, event)).toBe("waiting");
  });

  test(`${verifies("K-07")}a server that keeps no keys any more is not sent what may have run`, () => {
    const queued = { ...across, at: "held", next: "post" } as const;
    expect(outcome(queued, { type: "release", isSafe: true })).toBe("posting post");
    expect(outcome(queued, { type: "release", isSafe: false })).toBe(
      "over drop endUnknown:session-gone",
    );
    expect(outcome({ ...unrun, at: "held" }, { type: "release", isSafe: false })).toBe(
      "posting post",
    );
  });

  test(`${verifies("K-07", "K-09")}what waits its time counts on no key of a session that is over`, () => {
    const waiting = { ...unrun, at: "waiting", isSafe: true } as const;
    const { state } = stepStream(waiting, events.sessionOver, rules);
    expect(state).toMatchObject({ at: "waiting", next: "post", isSafe: false });
    const released = stepStream(state, { type: "release", isSafe: true }, rules);
    expect(released.state).toMatchObject({ at: "waiting", isSafe: true });
  });

  test(`${verifies("K-07")}nothing of the old session goes into the new one`, () => {
    const { state } = stepStream({ ...safe, at: "reading" }, events.sessionOver, rules);
    expect(state).toMatchObject({ cursor: null, next: "post", budget: { attempts: 0 } });
  });
});
