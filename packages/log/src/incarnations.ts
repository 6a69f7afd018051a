/**
 * Which incarnation of the log vouches for which positions of a stream [C E-02].
 *
 * Runs are few: one more each time that a stream is appended to after the log was opened again.
 * Pure but for {@link randomIncarnation}.
 */
import { randomInt } from "node:crypto";
import type { EventPlace } from "@holdfast/contract";
import type { IncarnationRun, StreamState } from "./event-log.ts";

/** How many runs from before `evictedThrough` are kept, so that old cursors can be counted. */
export const evictedRunsMax = 16;

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A fresh incarnation: 8 characters of `0-9a-z`, 41 random bits. */
export function randomIncarnation(): string {
  return Array.from({ length: 8 }, () => digits[randomInt(digits.length)]).join("");
}

/** The record of a position, or `undefined` when it was forgotten with long evicted runs. */
export function incarnationAt(
  runs: readonly IncarnationRun[],
  position: number,
): string | undefined {
  for (let i = runs.length - 1; i >= 0; i -= 1) {
    const run = runs[i];
    if (run !== undefined && run.from <= position) return run.incarnation;
  }
  return undefined;
}

/** The runs after an append at `position`; the same array when nothing is new. */
export function recordRun(
  runs: readonly IncarnationRun[],
  position: number,
  incarnation: string,
): readonly IncarnationRun[] {
  return runs.at(-1)?.incarnation === incarnation
    ? runs
    : [...runs, { from: position, incarnation }];
}

/** Forget runs that only long evicted positions need; the same array when none is. */
export function pruneRuns(
  runs: readonly IncarnationRun[],
  evictedThrough: number,
): readonly IncarnationRun[] {
  const watermark = runs.findLastIndex((run) => run.from <= evictedThrough);
  const surplus = watermark - evictedRunsMax;
  return surplus > 0 ? runs.slice(surplus) : runs;
}

/**
 * A place of a stream as the log vouches for it: its event id is a valid cursor.
 *
 * @param position - from `evictedThrough` to `head`
 */
export function placeAt(tag: string, stream: StreamState, position: number): EventPlace {
  const incarnation = incarnationAt(stream.runs, position);
  if (incarnation === undefined) {
    throw new RangeError(`stream ${stream.stream} has no record of position ${position}`);
  }
  return { tag, stream: stream.stream, position, incarnation };
}

/** The last time that a log found that it may have lost acknowledged events [C R-08]. */
export interface PossibleLoss {
  /** Opening, or term, of the log that found it; 0 for none. */
  readonly lossGeneration: number;
  /** Vouches for all that was left then. */
  readonly lossIncarnation: string;
}

/**
 * The runs of a stream as they count now. Those written before a possible loss vouch for nothing:
 * what is still there is vouched for by the incarnation that found the loss, and every cursor from
 * before it is refused [C R-08]. Rows are written anew when their stream is next appended to.
 *
 * @param generation - the generation of the log in which `runs` were written
 */
export function effectiveRuns(
  runs: readonly IncarnationRun[],
  generation: number,
  loss: PossibleLoss,
): readonly IncarnationRun[] {
  if (generation >= loss.lossGeneration) return runs;
  return [{ from: 0, incarnation: loss.lossIncarnation }];
}
