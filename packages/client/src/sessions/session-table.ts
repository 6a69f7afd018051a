/**
 * The table of a session: every place × every event. Total over closed unions, so that a missing
 * cell does not compile.
 */
import type {
  ParkReason,
  SessionAction,
  SessionCell,
  SessionEvent,
  SessionEventType,
  SessionPlace,
  SessionRow,
  SessionState,
  SessionStep,
} from "./session-machine.ts";

/** [C K-07] after so many re-initializations without a served request it parks. */
export const renewalsMax = 3;

/** What becomes of a session by an event. */
export function stepSession(state: SessionState, event: SessionEvent): SessionStep {
  // The row's cell takes just this type of event: that is what the table's type says.
  const cell = sessionTable[state.at][event.type] as SessionCell<SessionEventType>;
  return cell(state, event);
}

const stay = (state: SessionState): SessionStep => ({ state, actions: [] });

const later = (state: SessionState): SessionStep => ({ state, actions: [{ do: "probeLater" }] });

const close = (state: SessionState): SessionStep => ({
  state: { ...state, at: "closed", hasSession: false },
  actions: [{ do: "stop" }],
});

/** A new session on the application's wish, whatever was before. */
const open = (state: SessionState): SessionStep => ({
  state: { ...state, at: "opening", hasSession: false, renewals: 0 },
  actions: [{ do: "establish" }],
});

const established = (state: SessionState): SessionStep => {
  const resume: SessionAction[] = state.isParked ? [{ do: "resume" }] : [];
  return {
    state: { ...state, at: "open", hasSession: true, isParked: false },
    actions: [{ do: "restore" }, ...resume],
  };
};

const served = (state: SessionState): SessionStep => ({
  state: { ...state, renewals: 0 },
  actions: [],
});

/** [C K-07] the id is discarded; then a new session is opened, once. */
const gone = (state: SessionState): SessionStep => {
  const end: SessionAction = { do: "endStreams", reason: "session-gone", mayRepeat: true };
  const told: SessionAction = { do: "tellEnded", reason: null };
  const left = { ...state, hasSession: false };
  if (state.renewals >= renewalsMax) return follow([end, told], parked(left, "renewals"));
  return follow([end, told], renewing(left));
};

const ending: SessionCell<"ending"> = (state, { reason }) => ({
  state: { ...state, at: "ended", hasSession: false, isParked: false },
  actions: [
    { do: "endStreams", reason: "session-ended", mayRepeat: false },
    { do: "tellEnded", reason },
  ],
});

const terminated = (state: SessionState): SessionStep => ({
  state: { ...state, at: "none", hasSession: false, isParked: false, renewals: 0 },
  actions: [{ do: "endStreams", reason: "session-ended", mayRepeat: false }, { do: "failQueue" }],
});

const unconnected = (state: SessionState): SessionStep => ({
  state: { ...state, at: "none", hasSession: false, isParked: false },
  actions: [{ do: "failQueue" }],
});

function renewing(state: SessionState): SessionStep {
  return {
    state: { ...state, at: "renewing", renewals: state.renewals + 1 },
    actions: [{ do: "renew" }],
  };
}

function parked(state: SessionState, why: ParkReason): SessionStep {
  return {
    state: { ...state, at: "parked", isParked: true },
    actions: [{ do: "park", why, isNews: !state.isParked }, { do: "probeLater" }],
  };
}

function follow(actions: readonly SessionAction[], step: SessionStep): SessionStep {
  return { state: step.state, actions: [...actions, ...step.actions] };
}

const none: SessionRow = {
  initialize: (state, event) =>
    event.isKnown
      ? { state: { ...state, at: "checking", hasSession: true }, actions: [{ do: "check" }] }
      : open(state),
  // None will come before the application initializes.
  demand: (state) => ({ state, actions: [{ do: "failQueue" }] }),
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  established: stay,
  failed: stay,
  gone: stay,
  ending: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
};

const opening: SessionRow = {
  initialize: open,
  established: (state) => ({
    state: { ...state, at: "open", hasSession: true, isParked: false },
    actions: [],
  }),
  failed: unconnected,
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  demand: stay,
  gone: stay,
  ending: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
};

/** The stored session is over: the application gets one of its own. */
function replaced(
  state: SessionState,
  ended: "session-gone" | "session-ended",
  reason: string | null,
): SessionStep {
  return {
    state: { ...state, at: "opening", hasSession: false },
    actions: [
      { do: "endStreams", reason: ended, mayRepeat: ended === "session-gone" },
      { do: "tellEnded", reason },
      { do: "establish" },
    ],
  };
}

const checking: SessionRow = {
  initialize: stay,
  confirmed: (state) => ({ state: { ...state, at: "open" }, actions: [{ do: "adopt" }] }),
  unconfirmed: (state) => ({
    state: { ...state, at: "opening", hasSession: false },
    actions: [{ do: "establish" }],
  }),
  failed: unconnected,
  gone: (state) => replaced(state, "session-gone", null),
  ending: (state, { reason }) => replaced(state, "session-ended", reason),
  terminated,
  close,
  established: stay,
  demand: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
};

const openRow: SessionRow = {
  initialize: open,
  gone,
  ending,
  spent: (state, { isAlive }) => (isAlive ? later(state) : parked(state, "unreachable")),
  refused: (state, { isAlive }) => (isAlive ? later(state) : parked(state, "authorization")),
  stalled: later,
  served,
  probeDue: (state) => ({ state, actions: [{ do: "probe" }] }),
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  established: stay,
  failed: stay,
  demand: stay,
  contact: stay,
};

const renewingRow: SessionRow = {
  initialize: open,
  established,
  failed: (state, { why }) => parked(state, why),
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  demand: stay,
  gone: stay,
  ending: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
};

const parkedRow: SessionRow = {
  initialize: open,
  demand: (state) => (state.hasSession ? { state, actions: [] } : renewing(state)),
  gone,
  ending,
  spent: later,
  refused: later,
  stalled: later,
  contact: (state) =>
    state.hasSession
      ? { state: { ...state, at: "open", isParked: false }, actions: [{ do: "resume" }] }
      : { state, actions: [] },
  served,
  // [C K-05] the slow probe.
  probeDue: (state) =>
    state.hasSession
      ? { state, actions: [{ do: "probe" }, { do: "probeLater" }] }
      : renewing(state),
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  established: stay,
  failed: stay,
};

const endedRow: SessionRow = {
  initialize: open,
  demand: (state) => renewing(state),
  terminated,
  close,
  confirmed: stay,
  unconfirmed: stay,
  established: stay,
  failed: stay,
  gone: stay,
  ending: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
};

const closedRow: SessionRow = {
  initialize: stay,
  confirmed: stay,
  unconfirmed: stay,
  established: stay,
  failed: stay,
  demand: stay,
  gone: stay,
  ending: stay,
  spent: stay,
  refused: stay,
  stalled: stay,
  contact: stay,
  served: stay,
  probeDue: stay,
  terminated: stay,
  close: stay,
};

export const sessionTable: Readonly<Record<SessionPlace, SessionRow>> = {
  none,
  opening,
  checking,
  open: openRow,
  renewing: renewingRow,
  parked: parkedRow,
  ended: endedRow,
  closed: closedRow,
};
