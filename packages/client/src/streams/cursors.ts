/**
 * What can be told from ids: whether a heartbeat names something unseen, whether a replay shows
 * what was handed on before. Ids of other servers are opaque: of those only equality counts.
 */
import { compareEventIds, type EventPlace, parseEventId } from "@holdfast/contract";

/** [C K-13] the event that a heartbeat names is one that this reader has not seen. */
export function isUnseen(named: string, cursor: string | null): boolean {
  const [at, held] = [parseEventId(named), placeOf(cursor)];
  if (at === undefined || held === undefined) return false;
  // Incarnations differ when the log changed hands; positions go on.
  return at.tag === held.tag && at.stream === held.stream && at.position > held.position;
}

/** The id stands before the cursor: a replay that begins too early. */
export function isBehind(id: string, cursor: string | null): boolean {
  const [at, held] = [parseEventId(id), placeOf(cursor)];
  if (at === undefined || held === undefined) return false;
  return (compareEventIds(at, held) ?? 0) < 0;
}

/** Events between two ids of one stream, where that can be counted. */
export function eventsBetween(from: string | null, to: string | null): number | null {
  const [start, end] = [placeOf(from), placeOf(to)];
  if (start === undefined || end === undefined) return null;
  if (start.tag !== end.tag || start.stream !== end.stream) return null;
  return end.position > start.position ? end.position - start.position : null;
}

export function streamOf(cursor: string | null): number | null {
  return placeOf(cursor)?.stream ?? null;
}

function placeOf(cursor: string | null): EventPlace | undefined {
  return cursor === null ? undefined : parseEventId(cursor);
}

/** Remembers the newest ids of one stream, to know them again when they are replayed. */
export class ReplayGuard {
  readonly #ids = new Set<string>();
  #isReplaying = false;

  /** A viewport was opened by a cursor. */
  begin(): void {
    this.#isReplaying = this.#ids.size > 0;
  }

  /** An event is here. @returns true: it was handed on before */
  isRepeat(id: string | undefined): boolean {
    // The server goes on from the cursor: the first event that is new ends the repetition.
    if (this.#isReplaying && id !== undefined && this.#ids.has(id)) return true;
    this.#isReplaying = false;
    if (id !== undefined) this.#remember(id);
    return false;
  }

  #remember(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= idsMax) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }
}

const idsMax = 256;
