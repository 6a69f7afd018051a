/** A plan, written: the rows that it adds and changes, and what is kept in memory of them. */
import type { Plan, SessionId, StreamState } from "@holdfast/log";
import type { Book, SessionEntry, StreamEntry } from "./book.ts";
import type { Desk } from "./desk.ts";
import { kindNumber, writeCalls, writeRuns, writeStates } from "./rows.ts";
import type { Statements } from "./statements.ts";

type Writer = Pick<Desk, "run" | "book" | "nextSeq">;

/** @param known - the session before; `undefined` if the plan creates it */
export function writePlan(
  writer: Writer,
  id: SessionId,
  known: SessionEntry | undefined,
  plan: Plan,
  atMs: number,
): SessionEntry {
  const entry = writeSession(writer, id, known, plan, atMs);
  for (const state of plan.streams.values()) {
    const isAnswered = plan.events.some((event) => event.isLast && event.stream === state.stream);
    writeStream(writer, entry, state, isAnswered, atMs);
  }
  if (plan.events.length === 0) return entry;
  // Counted, if they were not yet, before the new events are there to be counted.
  const totals = writer.book.totals(entry);
  for (const { stream, position, kind, isLast, bytes, text } of plan.events) {
    const seq = writer.nextSeq();
    const { addEvent } = writer.run;
    addEvent.run(seq, entry.id, stream, position, kindNumber(kind), +isLast, atMs, bytes, text);
    totals.bytes += bytes;
    if (kind === "response") totals.responseBytes += bytes;
    else totals.events += 1;
  }
  return entry;
}

function writeSession(
  { run, book }: Writer,
  id: SessionId,
  known: SessionEntry | undefined,
  { session }: Plan,
  atMs: number,
): SessionEntry {
  if (known === undefined) {
    const { tag, principal, data, createdAtMs } = session;
    const added = run.addSession.run(id, tag, principal, data, createdAtMs);
    const entry: SessionEntry = {
      id: Number(added.lastInsertRowid),
      state: session,
      isPurged: false,
      streams: new Map(),
      totals: { events: 0, bytes: 0, responseBytes: 0 },
      evictable: undefined,
    };
    book.addSession(entry);
    if (session.ended !== undefined) run.endSession.run(session.ended, atMs, entry.id);
    return entry;
  }
  if (session.data !== known.state.data) run.setData.run(session.data, known.id);
  if (session.ended !== undefined) run.endSession.run(session.ended, atMs, known.id);
  known.state = session;
  return known;
}

/** @param isAnswered - an event of this plan answers the stream's last running call */
function writeStream(
  { run, book }: Writer,
  entry: SessionEntry,
  state: StreamState,
  isAnswered: boolean,
  atMs: number,
): void {
  const known = entry.streams.get(state.stream);
  const lastResponse = isAnswered ? state.head : 0;
  const isFinishing = state.isFinished && known?.state.isFinished !== true;
  const cancelledAtMs = isFinishing && !isAnswered ? atMs : known?.cancelledAtMs;
  const finishedAtMs = isFinishing ? atMs : known?.finishedAtMs;
  if (known === undefined) {
    const { stream, calls, runs, evictedThrough, writtenThrough } = state;
    const states = writeStates(calls, lastResponse);
    const added = run.addStream.run(
      entry.id,
      stream,
      writeCalls(calls),
      states,
      writeRuns(runs),
      book.meta.generation,
      evictedThrough,
      writtenThrough,
      cancelledAtMs ?? null,
    );
    const id = Number(added.lastInsertRowid);
    const recent = undefined;
    book.addStream(entry, { id, state, finishedAtMs, cancelledAtMs, states, runs, recent });
    return;
  }
  const states =
    state.calls === known.state.calls ? known.states : writeStates(state.calls, lastResponse);
  // A cancellation changes the states.
  const isChanged =
    states !== known.states ||
    state.runs !== known.runs ||
    state.writtenThrough !== known.state.writtenThrough;
  known.state = state;
  known.finishedAtMs = finishedAtMs;
  known.cancelledAtMs = cancelledAtMs;
  if (isChanged) updateStream(run, book, known, states);
}

function updateStream(run: Statements, book: Book, stream: StreamEntry, states: string): void {
  const { runs, writtenThrough } = stream.state;
  const { generation } = book.meta;
  const cancelledAtMs = stream.cancelledAtMs ?? null;
  run.setStream.run(states, writeRuns(runs), generation, writtenThrough, cancelledAtMs, stream.id);
  stream.states = states;
  stream.runs = runs;
}
