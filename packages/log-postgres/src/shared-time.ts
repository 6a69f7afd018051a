/**
 * Log time of many nodes: milliseconds in which some node held the log and reached the store.
 *
 * Each node counts by its own monotonic clock and tells the store now and then; who is told a later
 * time goes on from there. So the nodes agree to within the pause between two tellings, and no step
 * of any wall clock, the store's included, moves it.
 */
import type { Clock, LogTime } from "@holdfast/log";

export interface SharedTime extends LogTime {
  /** Another node is further: go on from there. */
  advanceTo(logMs: number): void;
  /** While the store is away nobody is served, and no time passes [C S-02]. */
  pause(): void;
  resume(): void;
}

/** @param baseMs - log time that had passed when it was last told */
export function startSharedTime(clock: Clock, baseMs: number): SharedTime {
  let passedMs = baseMs;
  let sinceMs: number | undefined = clock.monotonicMs();
  const elapsedMs = () => passedMs + (sinceMs === undefined ? 0 : clock.monotonicMs() - sinceMs);
  return {
    stampMs: () => Math.ceil(elapsedMs()),
    nowMs: () => Math.floor(elapsedMs()),
    advanceTo: (logMs) => {
      passedMs += Math.max(0, logMs - elapsedMs());
    },
    pause: () => {
      passedMs = elapsedMs();
      sinceMs = undefined;
    },
    resume: () => {
      sinceMs ??= clock.monotonicMs();
    },
  };
}
