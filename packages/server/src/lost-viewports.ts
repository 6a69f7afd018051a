/**
 * Streams of a session that nobody shows any more, and since when: the next viewport tells how long
 * its reader took to come back [C W-06].
 *
 * Of this process alone: what an earlier one lost is not measured.
 */
import type { Clock } from "@holdfast/log";
import type { ViewportEnd } from "./viewport.ts";

/** Streams that are remembered; those lost longest ago are forgotten first. */
const lostMax = 256;

export class LostViewports {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** In the order of their loss. */
  readonly #atMs = new Map<number, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The viewport of a stream ended, and no other shows it. */
  note(stream: number, end: ViewportEnd): void {
    this.#atMs.delete(stream);
    // Nobody comes back for what is over.
    if (end === "finished" || end === "ended") return;
    this.#atMs.set(stream, this.#clock.monotonicMs());
    const [oldest] = this.#atMs.keys();
    if (this.#atMs.size > lostMax && oldest !== undefined) this.#atMs.delete(oldest);
  }

  /** The stream is shown again. @returns since when it was not, milliseconds */
  found(stream: number): number | undefined {
    const atMs = this.#atMs.get(stream);
    this.#atMs.delete(stream);
    return atMs === undefined ? undefined : this.#clock.monotonicMs() - atMs;
  }
}
