/**
 * State that dies with the process. A second transport can take it over once the first is closed:
 * what holds for a restart holds for it.
 */
import { ClientError } from "../client-errors.ts";
import {
  type ClientState,
  idBlock,
  type LedgerEntry,
  type StateChange,
  type StoredSession,
} from "./client-state.ts";

/** Keep the state in memory [C K-03 holds only while the process lives]. */
export function memoryState(): ClientState {
  const sessions = new Map<number, StoredSession>();
  const cursors = new Map<number, string>();
  const ledger = new Map<number, LedgerEntry>();
  let currentSession: number | null = null;
  let nextId = 1;
  let isOpen = false;

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
    isDurable: false,
    open: () => {
      if (isOpen) {
        throw new ClientError("ERR_STATE_LOCKED", "Another transport holds this state.", {
          hint: "Close that transport first, or give each one a state of its own.",
        });
      }
      isOpen = true;
      return {
        currentSession,
        sessions: [...sessions.values()],
        cursors: new Map(cursors),
        ledger: [...ledger.values()],
      };
    },
    reserveIds: () => {
      const first = nextId;
      nextId += idBlock;
      return first;
    },
    commit: (changes) => changes.forEach(apply),
    close: () => {
      isOpen = false;
    },
  };
}
