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

export interface Attempts {
  recall(session: SessionId, id: string | undefined): CommitOutcome | undefined;
  remember(session: SessionId, id: string | undefined, outcome: CommitOutcome): void;
  forget(session: SessionId): void;
  clear(): void;
}

export function createAttempts(): Attempts {
  const bySession = new Map<SessionId, Map<string, CommitOutcome>>();
  return {
    recall: (session, id) => (id === undefined ? undefined : bySession.get(session)?.get(id)),
    remember: (session, id, outcome) => {
      if (id === undefined) return;
      const outcomes = bySession.get(session) ?? new Map<string, CommitOutcome>();
      outcomes.set(id, outcome);
      if (outcomes.size > attemptsMax) dropFirst(outcomes);
      // Newest last.
      bySession.delete(session);
      bySession.set(session, outcomes);
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
