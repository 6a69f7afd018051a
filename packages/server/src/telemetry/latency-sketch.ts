/**
 * Quantiles of durations in bounded memory: buckets a tenth wide, over the last day or two.
 *
 *     older ◀──after a day── current ◀── add
 *
 * A quantile is the upper edge of its bucket, but never above the largest that was seen: it errs by
 * a tenth, and to the careful side.
 */
import type { Clock } from "@holdfast/log";

const growth = 1.1;
const bucketsMax = 256;
/** Shortest that is told apart, milliseconds. */
const floorMs = 1;
const turnMs = 24 * 60 * 60_000;

interface Half {
  readonly counts: Uint32Array;
  count: number;
  maxMs: number;
}

export interface LatencyFacts {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export class LatencySketch {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #current = emptyHalf();
  #older = emptyHalf();
  #turnedAtMs: number;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#turnedAtMs = clock.monotonicMs();
  }

  add(ms: number): void {
    this.#turn();
    const bucket = bucketOf(ms);
    this.#current.counts[bucket] = (this.#current.counts[bucket] ?? 0) + 1;
    this.#current.count++;
    this.#current.maxMs = Math.max(this.#current.maxMs, ms);
  }

  /** All zero while nothing was seen. */
  facts(): LatencyFacts {
    this.#turn();
    return {
      count: this.#current.count + this.#older.count,
      p50Ms: this.#quantile(0.5),
      p99Ms: this.#quantile(0.99),
      p999Ms: this.#quantile(0.999),
      maxMs: this.#maxMs,
    };
  }

  get #maxMs(): number {
    return Math.max(this.#current.maxMs, this.#older.maxMs);
  }

  #quantile(q: number): number {
    const count = this.#current.count + this.#older.count;
    let left = Math.ceil(count * q);
    if (left === 0) return 0;
    for (let bucket = 0; bucket < bucketsMax; bucket++) {
      left -= (this.#current.counts[bucket] ?? 0) + (this.#older.counts[bucket] ?? 0);
      if (left <= 0) return Math.min(floorMs * growth ** bucket, this.#maxMs);
    }
    return this.#maxMs;
  }

  #turn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#turnedAtMs < turnMs) return;
    this.#older = nowMs - this.#turnedAtMs < 2 * turnMs ? this.#current : emptyHalf();
    this.#current = emptyHalf();
    this.#turnedAtMs = nowMs;
  }
}

function emptyHalf(): Half {
  return { counts: new Uint32Array(bucketsMax), count: 0, maxMs: 0 };
}

/** Bucket `n` holds what is longer than `growth ** (n - 1)` and not longer than `growth ** n`. */
function bucketOf(ms: number): number {
  if (ms <= floorMs) return 0;
  return Math.min(Math.ceil(Math.log(ms / floorMs) / Math.log(growth)), bucketsMax - 1);
}
