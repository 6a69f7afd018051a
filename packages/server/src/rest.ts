/**
 * How long a session has rested [C S-02]: time is the monotonic clock's, so that no step of the wall
 * clock counts. The log is told lazily, and goes on counting when this process is gone.
 */
import type { Clock } from "@holdfast/log";

export class Rest {
  readonly #clock: Clock;
  /** The client said something, or a viewport closed. */
  #activeAtMs: number;
  /** The newest event. */
  #eventAtMs: number;
  /** The log knows of a use until then. */
  #toldAtMs: number;
  /** The client came back after `initialize` [C S-03]. */
  #isUsed: boolean;

  constructor(clock: Clock, isUsed: boolean) {
    this.#clock = clock;
    this.#activeAtMs = clock.monotonicMs();
    this.#eventAtMs = this.#activeAtMs;
    this.#toldAtMs = this.#activeAtMs;
    this.#isUsed = isUsed;
  }

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Since the client was last there, milliseconds. */
  get restedMs(): number {
    return this.#clock.monotonicMs() - this.#activeAtMs;
  }

  /** Since either side was last heard, milliseconds. */
  get quietMs(): number {
    return Math.min(this.restedMs, this.#clock.monotonicMs() - this.#eventAtMs);
  }

  /** The client was there. */
  active(): void {
    this.#activeAtMs = this.#clock.monotonicMs();
  }

  /** An event came. */
  event(): void {
    this.#eventAtMs = this.#clock.monotonicMs();
  }

  /** @returns true the first time: the log has to know at once */
  use(): boolean {
    this.active();
    if (this.#isUsed) return false;
    this.#isUsed = true;
    this.#toldAtMs = this.#activeAtMs;
    return true;
  }

  /**
   * Whether the log has to be told again.
   *
   * @param isInUse - it is in use at this moment
   */
  tell(isInUse: boolean): boolean {
    if (!isInUse && this.#activeAtMs <= this.#toldAtMs) return false;
    this.#toldAtMs = this.#clock.monotonicMs();
    return true;
  }
}
