/**
 * The outcomes of each session's newest commits, by the id of the attempt: who repeats a commit
 * whose reply was lost gets the first outcome, and nothing changes twice.
 *
 * Lives with the process: a log that is asked by the process that holds it loses replies only when
 * that process is lost too.
 */
import type { CommitOutcome, SessionId } from "./event-log.ts";

/** How many a session remembers. */
export const attemptsMax = 8;

/** How many sessions are remembered; those that have not committed for longest are forgotten. */
const sessionsMax = 10_000;

interface Remembered {
  readonly id: string;
  readonly outcome: CommitOutcome;
}

export interface Attempts {
  recall(session: SessionId, id: string | undefined): CommitOutcome | undefined;
  remember(session: SessionId, id: string | undefined, outcome: CommitOutcome): void;
  forget(session: SessionId): void;
  clear(): void;
}

export function createAttempts(): Attempts {
  // Newest last, both of them.
  const bySession = new Map<SessionId, Remembered[]>();
  return {
    recall: (session, id) => {
      if (id === undefined) return undefined;
      return bySession.get(session)?.find((one) => one.id === id)?.outcome;
    },
    remember: (session, id, outcome) => {
      if (id === undefined) return;
      const kept = bySession.get(session);
      if (kept?.some((one) => one.id === id)) return;
      const remembered = kept ?? [];
      remembered.push({ id, outcome });
      if (remembered.length > attemptsMax) remembered.shift();
      // The order matters to who is near the bound; to keep it has a price.
      if (kept !== undefined && bySession.size < sessionsMax / 2) return;
      bySession.delete(session);
      bySession.set(session, remembered);
      if (bySession.size > sessionsMax) dropFirst(bySession);
    },
    forget: (session) => void bySession.delete(session),
    clear: () => bySession.clear(),
  };
}

function dropFirst<K>(map: Map<K, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
