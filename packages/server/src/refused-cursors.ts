/**
 * Cursors that were refused a short while ago: a client that repeats one did not understand the
 * refusal, and is told in-band [C R-09].
 */
import type { EventId } from "@holdfast/contract";
import { bounds } from "./options.ts";

export class RefusedCursors {
  /** When each was refused, oldest first, monotonic milliseconds. */
  readonly #atMs = new Map<EventId, number>();

  isRepeated(cursor: EventId, nowMs: number): boolean {
    const beforeMs = this.#atMs.get(cursor);
    this.#atMs.delete(cursor);
    this.#atMs.set(cursor, nowMs);
    const [oldest] = this.#atMs.keys();
    if (this.#atMs.size > bounds.refusedCursorsMax && oldest !== undefined) {
      this.#atMs.delete(oldest);
    }
    return beforeMs !== undefined && nowMs - beforeMs <= bounds.repeatMs;
  }
}
