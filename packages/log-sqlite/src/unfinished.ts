/**
 * Which streams of a session have a running call: found without reading all of its streams, and
 * without writing a stream a second time when its call is answered (the answer tells, see rows.ts).
 *
 * Once in a while the session's row is given the numbers of those that are unfinished then. After a
 * restart those are asked, and the streams that were opened since; from then on they are kept.
 */
import type { StreamState } from "@holdfast/log";
import type { Book, SessionEntry } from "./book.ts";
import { all, type Statements } from "./statements.ts";

/** Streams that are opened between two notes: so many have to be asked at most. */
const noteEvery = 256;

/** Rising by number. */
export function unfinishedStreams(
  run: Statements,
  book: Book,
  entry: SessionEntry,
): readonly StreamState[] {
  const states: StreamState[] = [];
  for (const number of unfinishedNumbers(run, book, entry)) {
    const stream = book.stream(entry, number);
    if (stream !== undefined) states.push(stream.state);
  }
  return states;
}

/** Within a transaction, after all that it writes of the session. */
export function noteUnfinished(run: Statements, book: Book, entry: SessionEntry): void {
  const before = entry.state.nextStream;
  if (before - entry.noted.before < noteEvery) return;
  const streams = [...unfinishedNumbers(run, book, entry)];
  run.noteUnfinished.run(JSON.stringify(streams), before, entry.id);
  entry.noted = { streams, before };
}

function unfinishedNumbers(run: Statements, book: Book, entry: SessionEntry): Set<number> {
  entry.unfinished ??= readUnfinished(run, book, entry);
  return entry.unfinished;
}

function readUnfinished(run: Statements, book: Book, entry: SessionEntry): Set<number> {
  const { streams, before } = entry.noted;
  const still = streams.filter((number) => book.stream(entry, number)?.state.isFinished === false);
  const since = all<{ stream: number }>(run.unfinishedFrom, entry.id, before);
  return new Set([...still, ...since.map(({ stream }) => stream)]);
}
