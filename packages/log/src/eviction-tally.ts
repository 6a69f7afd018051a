/** Events that leave the log one by one, told of by stream and cause. */
import type { Eviction, SessionId } from "./event-log.ts";

export interface Evicted {
  readonly session: SessionId;
  readonly stream: number;
  readonly position: number;
  readonly bytes: number;
  readonly cause: Eviction["cause"];
  readonly isBreach: boolean;
  /** Since it was appended, log time. */
  readonly ageMs: number;
}

export interface EvictionTally {
  add(evicted: Evicted): void;
  list(): readonly Eviction[];
}

export function createEvictionTally(): EvictionTally {
  const bySum = new Map<string, { -readonly [K in keyof Eviction]: Eviction[K] }>();
  return {
    add: ({ position, ...evicted }) => {
      const { session, stream, bytes, cause, isBreach, ageMs } = evicted;
      const key = `${stream} ${cause} ${isBreach} ${session}`;
      const sum = bySum.get(key);
      if (sum === undefined) {
        bySum.set(key, { ...evicted, through: position, events: 1 });
        return;
      }
      sum.through = Math.max(sum.through, position);
      sum.events += 1;
      sum.bytes += bytes;
      sum.ageMs = Math.min(sum.ageMs, ageMs);
    },
    list: () => [...bySum.values()],
  };
}
