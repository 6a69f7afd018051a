/**
 * Writes whose reply was lost, and that the caller was told nothing of. Whether they took effect is
 * found out when their session is next read; until then none of its commits may be planned on what
 * was known before. What did is kept, since the caller repeats it: a write may carry more commits
 * than {@link attemptsMax}, and none of them may happen twice.
 */
import type { CommitOutcome, SessionId } from "@holdfast/log";

export interface UncertainWrite {
  readonly name: string;
  /** What it comes to, by the id of the attempt. */
  readonly outcomes: readonly (readonly [id: string, outcome: CommitOutcome])[];
}

/** How many sessions can have some; beyond that the oldest are given up. */
const sessionsMax = 10_000;
/** How many outcomes are kept of a session, newest last: more than one write carries. */
const outcomesMax = 2_000;

export interface UncertainWrites {
  add(session: SessionId, write: UncertainWrite): void;
  /** Some of its writes may have taken effect, or not. */
  has(session: SessionId): boolean;
  /**
   * The session was read.
   *
   * @param names - of the newest writes to it
   */
  settle(session: SessionId, names: readonly string[]): void;
  /** The outcome of a commit that took effect although its reply was lost. */
  recall(session: SessionId, id: string | undefined): CommitOutcome | undefined;
  /** A later write took effect: what has not by now never will. */
  forget(session: SessionId): void;
}

interface Known {
  writes: readonly UncertainWrite[];
  landed: Map<string, CommitOutcome>;
}

export function createUncertainWrites(): UncertainWrites {
  const bySession = new Map<SessionId, Known>();
  return {
    add: (session, write) => {
      const known = bySession.get(session) ?? { writes: [], landed: new Map() };
      known.writes = [...known.writes, write];
      bySession.set(session, known);
      if (bySession.size > sessionsMax) dropFirst(bySession);
    },
    has: (session) => (bySession.get(session)?.writes.length ?? 0) > 0,
    settle: (session, names) => {
      const known = bySession.get(session);
      const landed = known?.writes.find(({ name }) => names.includes(name));
      if (known === undefined || landed === undefined) return;
      // All were planned on one version: where one took effect, no other can.
      known.writes = [];
      for (const [id, outcome] of landed.outcomes) known.landed.set(id, outcome);
      while (known.landed.size > outcomesMax) dropFirst(known.landed);
    },
    recall: (session, id) => {
      return id === undefined ? undefined : bySession.get(session)?.landed.get(id);
    },
    forget: (session) => {
      const known = bySession.get(session);
      if (known === undefined) return;
      known.writes = [];
      if (known.landed.size === 0) bySession.delete(session);
    },
  };
}

function dropFirst<Key>(map: Map<Key, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
