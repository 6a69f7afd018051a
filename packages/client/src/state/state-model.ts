/** What a state holds, in memory, and what each change makes of it. For implementations of one. */
import type { LedgerEntry, StateChange, StoredSession, StoredState } from "./client-state.ts";

export interface StateModel {
  apply(change: StateChange): void;
  /** A copy. */
  read(): StoredState;
}

export const emptyState: StoredState = {
  currentSession: null,
  sessions: [],
  cursors: new Map(),
  ledger: [],
};

export function stateModel(initial: StoredState = emptyState): StateModel {
  const sessions = new Map<number, StoredSession>(initial.sessions.map((one) => [one.key, one]));
  const cursors = new Map<number, string>(initial.cursors);
  const ledger = new Map<number, LedgerEntry>(initial.ledger.map((one) => [one.call.wireId, one]));
  let { currentSession } = initial;

  const amend = (wireId: number, part: Partial<LedgerEntry>) => {
    const entry = ledger.get(wireId);
    if (entry !== undefined) ledger.set(wireId, { ...entry, ...part });
  };
  const apply = (one: StateChange): void => {
    switch (one.change) {
      case "putSession":
        sessions.set(one.session.key, one.session);
        return;
      case "dropSession":
        sessions.delete(one.key);
        cursors.delete(one.key);
        return;
      case "setCurrent":
        currentSession = one.key;
        return;
      case "setSessionCursor":
        if (one.cursor === null) cursors.delete(one.key);
        else cursors.set(one.key, one.cursor);
        return;
      case "putCall":
        ledger.set(one.call.wireId, { call: one.call, cursor: null, isTold: false, outcome: null });
        return;
      case "setCallCursor":
        return amend(one.wireId, { cursor: one.cursor });
      case "setTold":
        return amend(one.wireId, { isTold: true });
      case "setOutcome":
        return amend(one.wireId, { outcome: one.outcome });
      case "dropCall":
        ledger.delete(one.wireId);
    }
  };
  return {
    apply,
    read: () => ({
      currentSession,
      sessions: [...sessions.values()],
      cursors: new Map(cursors),
      ledger: [...ledger.values()],
    }),
  };
}
