/** Every cell of a session's table, written out so that it shares nothing with the table. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import {
  noSession,
  type SessionEvent,
  type SessionEventType,
  type SessionPlace,
  type SessionState,
} from "./session-machine.ts";
import { renewalsMax, stepSession } from "./session-table.ts";

const events: { readonly [Type in SessionEventType]: Extract<SessionEvent, { type: Type }> } = {
  initialize: { type: "initialize", isKnown: false },
  confirmed: { type: "confirmed" },
  unconfirmed: { type: "unconfirmed" },
  established: { type: "established" },
  failed: { type: "failed", why: "unreachable" },
  demand: { type: "demand" },
  gone: { type: "gone" },
  ending: { type: "ending", reason: "deleted" },
  spent: { type: "spent", isAlive: false },
  refused: { type: "refused", isAlive: false },
  stalled: { type: "stalled" },
  contact: { type: "contact" },
  served: { type: "served" },
  probeDue: { type: "probeDue" },
  terminated: { type: "terminated" },
  close: { type: "close" },
};

/** `place action action:detail …` */
function outcome(state: SessionState, event: SessionEvent): string {
  const step = stepSession(state, event);
  const actions = step.actions.map((action) => {
    if (action.do === "endStreams") return `endStreams:${action.reason}`;
    return action.do === "park" ? `park:${action.why}` : action.do;
  });
  return [step.state.at, ...actions].join(" ");
}

type Cells = Readonly<Record<SessionPlace, Readonly<Record<SessionEventType, string>>>>;

const cells: Cells = {
  none: {
    initialize: "opening establish",
    confirmed: "none",
    unconfirmed: "none",
    established: "none",
    failed: "none",
    demand: "none failQueue",
    gone: "none",
    ending: "none",
    spent: "none",
    refused: "none",
    stalled: "none",
    contact: "none",
    served: "none",
    probeDue: "none",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  opening: {
    initialize: "opening establish",
    confirmed: "opening",
    unconfirmed: "opening",
    established: "open",
    failed: "none failQueue",
    demand: "opening",
    gone: "opening",
    ending: "opening",
    spent: "opening",
    refused: "opening",
    stalled: "opening",
    contact: "opening",
    served: "opening",
    probeDue: "opening",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  checking: {
    initialize: "checking",
    confirmed: "open adopt",
    unconfirmed: "opening establish",
    established: "checking",
    failed: "none failQueue",
    demand: "checking",
    gone: "opening endStreams:session-gone tellEnded establish",
    ending: "opening endStreams:session-ended tellEnded establish",
    spent: "checking",
    refused: "checking",
    stalled: "checking",
    contact: "checking",
    served: "checking",
    probeDue: "checking",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  open: {
    initialize: "opening establish",
    confirmed: "open",
    unconfirmed: "open",
    established: "open",
    failed: "open",
    demand: "open",
    gone: "renewing endStreams:session-gone tellEnded renew",
    ending: "ended endStreams:session-ended tellEnded",
    spent: "parked park:unreachable probeLater",
    refused: "parked park:authorization probeLater",
    stalled: "open probeLater",
    contact: "open",
    served: "open",
    probeDue: "open probe",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  renewing: {
    initialize: "opening establish",
    confirmed: "renewing",
    unconfirmed: "renewing",
    established: "open restore",
    failed: "parked park:unreachable probeLater",
    demand: "renewing",
    gone: "renewing",
    ending: "renewing",
    spent: "renewing",
    refused: "renewing",
    stalled: "renewing",
    contact: "renewing",
    served: "renewing",
    probeDue: "renewing",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  parked: {
    initialize: "opening establish",
    confirmed: "parked",
    unconfirmed: "parked",
    established: "parked",
    failed: "parked",
    demand: "parked",
    gone: "renewing endStreams:session-gone tellEnded renew",
    ending: "ended endStreams:session-ended tellEnded",
    spent: "parked probeLater",
    refused: "parked probeLater",
    stalled: "parked probeLater",
    contact: "open resume",
    served: "parked",
    probeDue: "parked probe probeLater",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  ended: {
    initialize: "opening establish",
    confirmed: "ended",
    unconfirmed: "ended",
    established: "ended",
    failed: "ended",
    demand: "renewing renew",
    gone: "ended",
    ending: "ended",
    spent: "ended",
    refused: "ended",
    stalled: "ended",
    contact: "ended",
    served: "ended",
    probeDue: "ended",
    terminated: "none endStreams:session-ended failQueue",
    close: "closed stop",
  },
  closed: {
    initialize: "closed",
    confirmed: "closed",
    unconfirmed: "closed",
    established: "closed",
    failed: "closed",
    demand: "closed",
    gone: "closed",
    ending: "closed",
    spent: "closed",
    refused: "closed",
    stalled: "closed",
    contact: "closed",
    served: "closed",
    probeDue: "closed",
    terminated: "closed",
    close: "closed",
  },
};

const list = Object.entries(cells).flatMap(([place, row]) =>
  Object.entries(row).map(([type, expected]) => ({ place, type, expected })),
);

function stateAt(at: SessionPlace): SessionState {
  const hasSession = at === "open" || at === "parked" || at === "checking";
  return { at, hasSession, isParked: at === "parked", renewals: 1 };
}

describe("the table of a session", () => {
  test.each(list)(`${verifies("K-05", "K-07")}$place × $type: $expected`, (cell) => {
    const state = stateAt(cell.place as SessionPlace);
    expect(outcome(state, events[cell.type as SessionEventType])).toBe(cell.expected);
  });

  test(`${verifies("K-10")}an application that asks for the stored session has it checked`, () => {
    expect(outcome(noSession, { type: "initialize", isKnown: true })).toBe("checking check");
  });

  test(`${verifies("K-05")}one stream that gives up parks nothing while another is read`, () => {
    const open = stateAt("open");
    expect(outcome(open, { type: "spent", isAlive: true })).toBe("open probeLater");
    expect(outcome(open, { type: "refused", isAlive: true })).toBe("open probeLater");
  });

  test(`${verifies("K-07")}three renewals without a served request are enough`, () => {
    let state = stateAt("open");
    state = stepSession(state, events.served).state;
    for (let i = 0; i < renewalsMax; i += 1) {
      expect(outcome(state, events.gone)).toContain("renewing");
      state = stepSession(state, events.gone).state;
      state = stepSession(state, events.established).state;
    }
    expect(outcome(state, events.gone)).toBe(
      "parked endStreams:session-gone tellEnded park:renewals probeLater",
    );
    expect(outcome(stepSession(state, events.served).state, events.gone)).toContain("renewing");
  });

  test(`${verifies("K-05")}parked without a session: the next call, or the probe, asks for one`, () => {
    const parked = { ...stateAt("parked"), hasSession: false };
    expect(outcome(parked, events.demand)).toBe("renewing renew");
    expect(outcome(parked, events.probeDue)).toBe("renewing renew");
    expect(outcome(parked, events.contact)).toBe("parked");
    const renewing = stepSession(parked, events.demand).state;
    expect(outcome(renewing, events.established)).toBe("open restore resume");
    const again = stepSession(renewing, events.failed);
    expect(again.actions).toContainEqual({ do: "park", why: "unreachable", isNews: false });
  });
});
