/**
 * The time by which a log forgets: only time in which it was open, whatever the wall clock does.
 *
 * [C S-02] "Steps of the wall clock neither expire nor extend it, nor W-01; time in which no
 * process ran does not count."
 */
import type { Clock, StreamState } from "./event-log.ts";

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
