/** Events that leave the log one by one, told of by stream and cause. */
import type { Eviction, SessionId } from "./event-log.ts";

export interface Evicted {
  readonly session: SessionId;
  readonly stream: number;
  readonly position: number;
  readonly bytes: number;
  readonly cause: Eviction["cause"];
  readonly isBreach: boolean;
}

export interface EvictionTally {
  add(evicted: Evicted): void;
  list(): readonly Eviction[];
}

export function createEvictionTally(): EvictionTally {
  const bySum = new Map<string, { -readonly [K in keyof Eviction]: Eviction[K] }>();
  return {
    add: ({ session, stream, position, bytes, cause, isBreach }) => {
      const key = `${stream} ${cause} ${isBreach} ${session}`;
      const sum = bySum.get(key);
      if (sum === undefined) {
        bySum.set(key, { session, stream, through: position, events: 1, bytes, cause, isBreach });
        return;
      }
      sum.through = Math.max(sum.through, position);
      sum.events += 1;
      sum.bytes += bytes;
    },
    list: () => [...bySum.values()],
  };
}
