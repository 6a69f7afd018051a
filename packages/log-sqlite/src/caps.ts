/**
 * The caps of a session, enforced in the transaction that broke them: oldest first in the order of
 * storage, and never one event more than needed [C W-01] [C W-03].
 */
import type { Retention } from "@holdfast/contract";
import { type EvictionTally, pruneRuns, windowEndMs } from "@holdfast/log";
import type { Book, SessionEntry, Totals } from "./book.ts";
import { all, type EvictableRow, type Statements } from "./statements.ts";

/** How many candidates are read ahead; at the cap, most commits then read none. */
const readAhead = 64;

/** @returns the streams that lost events */
export function enforceCaps(
  run: Statements,
  book: Book,
  entry: SessionEntry,
  retention: Retention,
  nowMs: number,
  tally: EvictionTally,
): ReadonlySet<number> {
  const totals = book.totals(entry);
  const evicted = new Set<number>();
  for (
    let cause = exceeded(totals, retention);
    cause !== undefined;
    cause = exceeded(totals, retention)
  ) {
    const row = nextEvictable(run, entry);
    if (row === undefined) break;
    const stream = book.stream(entry, row.stream);
    if (stream === undefined) throw new Error(`an event of stream ${row.stream} has no stream`);
    // [C W-03] "an unexpired response stops it there": what is behind one waits for the sweep.
    if (row.position !== stream.state.evictedThrough + 1) continue;
    run.deleteEvent.run(row.seq);
    const { position, bytes, at_ms } = row;
    const runs = pruneRuns(stream.state.runs, position);
    const endMs = windowEndMs(stream.state, at_ms, stream.finishedAtMs, retention.windowMs);
    stream.state = { ...stream.state, evictedThrough: position, runs };
    totals.events -= 1;
    totals.bytes -= bytes;
    evicted.add(row.stream);
    const { session } = entry.state;
    const isBreach = nowMs < endMs;
    const ageMs = nowMs - at_ms;
    tally.add({ session, stream: row.stream, position, bytes, cause, isBreach, ageMs });
  }
  for (const number of evicted) {
    const stream = entry.streams.get(number);
    // With no event left, the row alone remembers how far the stream went [C R-04].
    if (stream !== undefined && stream.state.evictedThrough === stream.state.head) {
      run.setEvicted.run(stream.state.head, stream.id);
    }
  }
  return evicted;
}

function exceeded(totals: Totals, retention: Retention): "count" | "bytes" | undefined {
  if (totals.events > retention.maxEvents) return "count";
  return totals.bytes > retention.maxBytes ? "bytes" : undefined;
}

function nextEvictable(run: Statements, entry: SessionEntry): EvictableRow | undefined {
  entry.evictable ??= { rows: [], after: 0 };
  const { evictable } = entry;
  if (evictable.rows.length === 0) {
    const rows = all<EvictableRow>(run.evictable, entry.id, evictable.after, readAhead);
    // Taken from the end.
    evictable.rows.push(...rows.reverse());
  }
  const row = evictable.rows.pop();
  if (row !== undefined) evictable.after = row.seq;
  return row;
}
