/**
 * The log's time as this node knows it: what the store told it last, and its own monotonic clock
 * since. Steps of any wall clock change nothing.
 *
 * The store told it at some moment between the question and the answer. What happens now is stamped
 * by the earlier one, what is due is judged by the later one: no window is ever shorter than it says.
 */
import type { Clock, LogTime } from "@holdfast/log";

export interface StoreTime extends LogTime {
  /** @param logMs - what the store said to a question that was asked at `askedMs`, monotonic */
  heard(logMs: number, askedMs: number): void;
}

/** @param isOwn - this node's clock alone counts; from the first answer on */
export function createStoreTime(clock: Clock, isOwn: boolean): StoreTime {
  let latest = Number.NaN;
  let earliest = Number.NaN;
  let stamped = 0;
  return {
    heard: (logMs, askedMs) => {
      if (isOwn && !Number.isNaN(latest)) return;
      const answeredMs = clock.monotonicMs();
      latest = logMs - (isOwn ? answeredMs : askedMs);
      earliest = logMs - answeredMs;
    },
    stampMs: () => {
      stamped = Math.max(stamped, Math.ceil(clock.monotonicMs() + latest));
      return stamped;
    },
    nowMs: () => Math.floor(clock.monotonicMs() + earliest),
  };
}
