/**
 * What time undoes, in bounded steps: windows that have passed, sessions that are over, tombstones,
 * idempotency keys.
 *
 * Events are walked in the order of storage, which is the order of their log time, up to the first
 * that is not due. An event of a stream of calls is due when the one is that finished the stream:
 * until the walk meets that one it passes over the others; then it takes them all.
 */
import {
  type Attempts,
  type EvictionTally,
  pruneRuns,
  purgeAfterMs,
  type SessionId,
  tombstoneMs,
} from "@holdfast/log";
import type { Book, SessionEntry } from "./book.ts";
import { responseKind, writeStates } from "./rows.ts";
import { type AgingRow, all, type DeletedRow, one, type Statements } from "./statements.ts";

/** Rows that one step may delete; a large event counts as several. */
export const costMax = 500;
const costBytes = 64 * 1024;
/** Rows that one step may look at without deleting them. */
const lookMax = 2_000;
const pageRows = 100;

export interface Sweep {
  /** `seq` of the last event that the walk has passed; events at or before it are not due yet. */
  passed: number;
}

interface Step {
  readonly run: Statements;
  readonly book: Book;
  readonly attempts: Attempts;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly idempotencyTtlMs: number;
  readonly tally: EvictionTally;
  readonly names: Map<number, SessionId>;
  /** New watermarks of standalone streams, by session. */
  readonly standalone: Map<number, number>;
  left: number;
}

/**
 * One step, within a transaction of the caller.
 *
 * @returns whether more is due
 */
export function sweepStep(sweep: Sweep, log: Omit<Step, "names" | "standalone" | "left">): boolean {
  const step: Step = { ...log, names: new Map(), standalone: new Map(), left: costMax };
  const isWalkDone = walk(step, sweep);
  evictCancelled(step);
  purgeSessions(step);
  forgetTombstones(step);
  expireClaims(step);
  return !isWalkDone || step.left <= 0;
}

/** @returns false if it was stopped by a bound */
function walk(step: Step, sweep: Sweep): boolean {
  let looked = 0;
  let isDone = false;
  while (step.left > 0 && looked < lookMax && !isDone) {
    const rows = all<AgingRow>(step.run.aging, sweep.passed, pageRows);
    isDone = rows.length < pageRows;
    for (const row of rows) {
      looked += 1;
      if (row.at_ms + step.windowMs > step.nowMs) {
        isDone = true;
        break;
      }
      if (step.left <= 0 || !passEvent(step, row)) {
        isDone = false;
        break;
      }
      sweep.passed = row.seq;
    }
  }
  for (const [session, through] of step.standalone) {
    step.run.setStandaloneEvicted.run(through, session);
  }
  return isDone;
}

/** @returns false if the walk has to come back to this event */
function passEvent(step: Step, row: AgingRow): boolean {
  if (row.stream === 0) {
    step.run.deleteEvent.run(row.seq);
    step.standalone.set(row.session, row.position);
    note(step, row.session, 0, [row]);
    return true;
  }
  if (row.is_last === 0) return true;
  const rows = deletePrefix(step, row.session, row.stream, row.position);
  if (!rows.some((deleted) => deleted.position === row.position)) return false;
  step.run.finishEvicted.run(row.position, row.position, row.session, row.stream);
  const stream = peek(step, row.session)?.streams.get(row.stream);
  if (stream !== undefined) stream.states = writeStates(stream.state.calls, 0);
  return true;
}

/** Streams that a cancellation finished: no event says so. */
function evictCancelled(step: Step): void {
  if (step.left <= 0) return;
  interface CancelledRow {
    readonly id: number;
    readonly session: number;
    readonly stream: number;
    readonly evicted_through: number;
  }
  const dueMs = step.nowMs - step.windowMs;
  for (const row of all<CancelledRow>(step.run.cancelled, dueMs, step.left)) {
    const asked = step.left;
    const rows = deletePrefix(step, row.session, row.stream, Number.MAX_SAFE_INTEGER);
    if (rows.length >= asked) return;
    const through = Math.max(row.evicted_through, ...rows.map((deleted) => deleted.position));
    step.run.cancelledEvicted.run(through, row.id);
    step.left -= 1;
    const stream = peek(step, row.session)?.streams.get(row.stream);
    if (stream !== undefined) stream.cancelledAtMs = undefined;
    if (step.left <= 0) return;
  }
}

function deletePrefix(
  step: Step,
  session: number,
  stream: number,
  through: number,
): readonly DeletedRow[] {
  const rows = all<DeletedRow>(step.run.deletePrefix, session, stream, through, step.left);
  note(step, session, stream, rows);
  return rows;
}

/** Events of one stream are gone: tell, count, and correct what is kept in memory. */
function note(step: Step, session: number, stream: number, rows: readonly DeletedRow[]): void {
  const name = nameOf(step, session);
  const entry = peek(step, session);
  let through = 0;
  for (const { position, kind, bytes, at_ms } of rows) {
    step.left -= 1 + Math.floor(bytes / costBytes);
    through = Math.max(through, position);
    const why = { cause: "window", isBreach: false, ageMs: step.nowMs - at_ms } as const;
    step.tally.add({ session: name, stream, position, bytes, ...why });
    if (entry?.totals === undefined) continue;
    entry.totals.bytes -= bytes;
    if (kind === responseKind) entry.totals.responseBytes -= bytes;
    else entry.totals.events -= 1;
  }
  if (entry === undefined || rows.length === 0) return;
  // What a response shielded from the caps may be free now.
  entry.evictable = undefined;
  const kept = entry.streams.get(stream);
  if (kept === undefined) return;
  const runs = pruneRuns(kept.state.runs, through);
  kept.state = { ...kept.state, evictedThrough: through, runs };
}

function purgeSessions(step: Step): void {
  while (step.left > 0) {
    const due = one<{ id: number; name: SessionId }>(step.run.toPurge, step.nowMs - purgeAfterMs);
    if (due === undefined) return;
    step.run.startPurge.run(due.id);
    step.book.drop(due.name);
    step.attempts.forget(due.name);
    const asked = step.left;
    const events = all<{ bytes: number }>(step.run.purgeEvents, due.id, asked);
    for (const { bytes } of events) step.left -= 1 + Math.floor(bytes / costBytes);
    if (events.length >= asked || step.left <= 0) return;
    const streamsAsked = step.left;
    const streams = Number(step.run.purgeStreams.run(due.id, streamsAsked).changes);
    step.left -= streams + 1;
    if (streams >= streamsAsked) return;
    step.run.endPurge.run(due.id);
  }
}

function forgetTombstones(step: Step): void {
  if (step.left <= 0) return;
  const dueMs = step.nowMs - tombstoneMs;
  const gone = all<{ name: SessionId }>(step.run.deleteTombstones, dueMs, step.left);
  for (const { name } of gone) step.book.drop(name);
  step.left -= gone.length;
}

function expireClaims(step: Step): void {
  if (step.left <= 0) return;
  const dueMs = step.nowMs - step.idempotencyTtlMs;
  for (const { bytes } of all<{ bytes: number | null }>(step.run.expireClaims, dueMs, step.left)) {
    step.left -= 1 + Math.floor((bytes ?? 0) / costBytes);
  }
}

function nameOf(step: Step, session: number): SessionId {
  const known = step.names.get(session);
  if (known !== undefined) return known;
  const row = one<{ name: SessionId }>(step.run.sessionName, session);
  if (row === undefined) throw new Error(`events of session ${session} have no session`);
  step.names.set(session, row.name);
  return row.name;
}

function peek(step: Step, session: number): SessionEntry | undefined {
  return step.book.peek(nameOf(step, session));
}
