/**
 * Which streams of a session have a running call: found without reading all of its streams, and
 * without writing a stream a second time when its call is answered (the answer tells, see rows.ts).
 *
 * Once in a while the session's row is given the numbers of those that are unfinished then. Asked
 * are those, and the streams that were opened since.
 */
import type { Book, SessionEntry, StreamEntry } from "./book.ts";
import { all, type Statements } from "./statements.ts";

/** Streams that are opened between two notes: so many have to be asked at most. */
const noteEvery = 256;

/** Rising by number. */
export function unfinishedStreams(
  run: Statements,
  book: Book,
  entry: SessionEntry,
): readonly StreamEntry[] {
  const since = all<{ stream: number }>(run.unfinishedFrom, entry.id, entry.unfinishedBefore);
  return [...entry.unfinished, ...since.map(({ stream }) => stream)].flatMap((number) => {
    const stream = book.stream(entry, number);
    return stream === undefined || stream.state.isFinished ? [] : [stream];
  });
}

/** Within a transaction that opened streams. */
export function noteUnfinished(run: Statements, book: Book, entry: SessionEntry): void {
  const { nextStream } = entry.state;
  if (nextStream - entry.unfinishedBefore < noteEvery) return;
  const unfinished = unfinishedStreams(run, book, entry).map(({ state }) => state.stream);
  run.setUnfinished.run(JSON.stringify(unfinished), nextStream, entry.id);
  entry.unfinished = unfinished;
  entry.unfinishedBefore = nextStream;
}
