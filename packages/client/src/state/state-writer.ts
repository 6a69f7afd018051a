/**
 * Groups changes of the state: what must be durable before something leaves waits for the end of
 * the current task; what follows a hand-on is written at the end of the turn of the event loop, so
 * that the application has acted on it first [C K-03].
 */
import type { ClientState, StateChange } from "./client-state.ts";

export interface StateWriter {
  /** @returns resolves when it is durable; rejects with what the state throws */
  before(change: StateChange): Promise<void>;
  /** Of several changes of one cursor in a turn only the last is written. */
  after(change: StateChange): void;
  /** Write what waits, now. */
  flush(): void;
  /** Write what waits; what comes after that is nobody's any more. */
  close(): void;
}

/** @param onError - a write that failed; what a state refused at once is tried again */
export function stateWriter(state: ClientState, onError: (error: Error) => void): StateWriter {
  let first: StateChange[] = [];
  let firstWritten: Promise<void> | undefined;
  const later = new Map<string | object, StateChange>();
  let isDue = false;
  let isClosed = false;

  const report = (error: unknown) =>
    onError(error instanceof Error ? error : new Error(String(error)));
  const flush = () => {
    isDue = false;
    if (isClosed || later.size === 0) return;
    const changes = [...later.values()];
    try {
      void state.commit(changes)?.catch(report);
      later.clear();
    } catch (error) {
      report(error);
    }
  };
  return {
    before: (change) => {
      first.push(change);
      // A call that goes out anew has no cursor.
      if (change.change === "putCall") later.delete(`call ${change.call.wireId}`);
      // One transaction for all that is asked for in this task.
      firstWritten ??= Promise.resolve().then(() => {
        const changes = first;
        first = [];
        firstWritten = undefined;
        return state.commit(changes);
      });
      return firstWritten;
    },
    after: (change) => {
      if (isClosed) return;
      const slot = slotOf(change);
      // The last change of a slot stands where it belongs in the order.
      later.delete(slot);
      later.set(slot, change);
      if (isDue) return;
      isDue = true;
      setImmediate(flush);
    },
    flush,
    close: () => {
      flush();
      isClosed = true;
    },
  };
}

/** Changes that overwrite each other share a slot. */
function slotOf(change: StateChange): string | object {
  if (change.change === "setCallCursor") return `call ${change.wireId}`;
  if (change.change === "setSessionCursor") return `session ${change.key}`;
  return change;
}
