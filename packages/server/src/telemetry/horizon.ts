/**
 * How far back cursors are honoured [C W-06]: the window, or less where a cap has evicted younger
 * events within the last window. The shortest of a stretch of time stands for all in it.
 */
import type { Clock } from "@holdfast/log";

/** Stretches into which a window is cut: the horizon recovers in steps of this part of it. */
const stretches = 60;

export class Horizon {
  readonly #windowMs: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Youngest evicted age by the number of its stretch; at most `stretches` and one. */
  readonly #shortest = new Map<number, number>();

  constructor(windowMs: number, clock: Pick<Clock, "monotonicMs">) {
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** A cap evicted an event inside the window. @param ageMs - how old it was */
  shorten(ageMs: number): void {
    const stretch = this.#stretch();
    this.#shortest.set(stretch, Math.min(this.#shortest.get(stretch) ?? ageMs, ageMs));
    this.#forget(stretch);
  }

  /** Milliseconds. */
  get ms(): number {
    this.#forget(this.#stretch());
    return Math.min(this.#windowMs, ...this.#shortest.values());
  }

  #stretch(): number {
    return Math.floor((this.#clock.monotonicMs() * stretches) / this.#windowMs);
  }

  #forget(current: number): void {
    for (const stretch of this.#shortest.keys()) {
      if (stretch < current - stretches) this.#shortest.delete(stretch);
    }
  }
}
