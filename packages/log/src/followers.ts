/** Who waits for the news of which stream; and of anything else. */
import type { SessionId } from "./event-log.ts";

/**
 * Add one more to those who are told. The same function given twice is two followers.
 *
 * @returns takes this one away; may be called again
 */
export function addFollower<Told extends readonly unknown[]>(
  all: Set<(...told: Told) => void>,
  given: (...told: Told) => void,
): () => void {
  const one = (...told: Told) => given(...told);
  all.add(one);
  return () => void all.delete(one);
}

export interface Followers {
  follow(session: SessionId, stream: number, wake: () => void): () => void;
  isFollowed(session: SessionId, stream: number): boolean;
  isSessionFollowed(session: SessionId): boolean;
  wake(session: SessionId, streams: Iterable<number>): void;
  /** Everyone who follows any stream of the session. */
  wakeAll(session: SessionId): void;
}

export function createFollowers(): Followers {
  const bySession = new Map<SessionId, Map<number, Set<() => void>>>();

  const wake = (session: SessionId, streams: Iterable<number>): void => {
    const byStream = bySession.get(session);
    if (byStream === undefined) return;
    for (const stream of streams) {
      // Copied: a wake may follow or leave.
      for (const one of [...(byStream.get(stream) ?? [])]) one();
    }
  };

  return {
    follow: (session, stream, given) => {
      // A function of its own for each call: the same wake given twice is two followers.
      const one = () => given();
      const byStream = bySession.get(session) ?? new Map<number, Set<() => void>>();
      bySession.set(session, byStream);
      const wakes = byStream.get(stream) ?? new Set();
      byStream.set(stream, wakes);
      wakes.add(one);
      return () => {
        if (!wakes.delete(one) || wakes.size > 0) return;
        byStream.delete(stream);
        if (byStream.size === 0) bySession.delete(session);
      };
    },
    isFollowed: (session, stream) => bySession.get(session)?.has(stream) ?? false,
    isSessionFollowed: (session) => bySession.has(session),
    wake,
    wakeAll: (session) => wake(session, [...(bySession.get(session)?.keys() ?? [])]),
  };
}
