/**
 * The time by which a log forgets: only time in which it was open, whatever the wall clock does.
 *
 * [C S-02] "Steps of the wall clock neither expire nor extend it, nor W-01; time in which no
 * process ran does not count."
 */
import type { Clock, RestLimits, StreamState } from "./event-log.ts";

/** A session that is over stays readable this long, for the viewports that show its end. */
export const purgeAfterMs = 60_000;

/** [C S-04] "Tombstones keep the reason for 24 h" */
export const tombstoneMs = 24 * 60 * 60_000;

/** Whole milliseconds of log time. Rounded so that a window is never shorter than it says. */
export interface LogTime {
  /** For what happens now: rounded up. */
  stampMs(): number;
  /** For what is due by now: rounded down. */
  nowMs(): number;
}

/** @param baseMs - log time that had passed when the log was last closed */
export function startLogTime(clock: Clock, baseMs: number): LogTime {
  const startedMs = clock.monotonicMs();
  const elapsedMs = () => baseMs + clock.monotonicMs() - startedMs;
  return {
    stampMs: () => Math.ceil(elapsedMs()),
    nowMs: () => Math.floor(elapsedMs()),
  };
}

/**
 * When the window of an event ends: of the standalone stream, by itself; of a stream of calls, with
 * the whole stream. [C W-01] "kept for the call plus the window"
 *
 * @param finishedAtMs - when the stream finished; `undefined` while a call runs
 * @returns log time; Infinity while a call runs
 */
export function windowEndMs(
  stream: StreamState,
  atMs: number,
  finishedAtMs: number | undefined,
  windowMs: number,
): number {
  if (stream.calls.length === 0) return atMs + windowMs;
  return finishedAtMs === undefined ? Number.POSITIVE_INFINITY : finishedAtMs + windowMs;
}

/** When a session was last in use, in log time, and whether its client ever came back to it. */
export interface Rest {
  readonly touchedAtMs: number;
  readonly isUsed: boolean;
}

/**
 * When a session has rested long enough to expire. [C S-02] "A session never expires before the
 * window of its newest event has passed"; one that was never used has nothing to wait for [C S-03].
 *
 * @param newestAtMs - when the newest retained event was appended, asked only where it counts;
 * `undefined` if there is none
 * @returns log time
 */
export function restEndMs(
  { touchedAtMs, isUsed }: Rest,
  newestAtMs: () => number | undefined,
  { idleTtlMs, unusedTtlMs, touchLagMs }: RestLimits,
  windowMs: number,
): number {
  // Its first use is told at once: nothing lags behind.
  if (!isUsed) return touchedAtMs + unusedTtlMs;
  const newest = newestAtMs();
  const windowOverMs = newest === undefined ? 0 : newest + windowMs;
  return Math.max(touchedAtMs + idleTtlMs + touchLagMs, windowOverMs);
}
