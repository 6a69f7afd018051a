/** What an open log works with: everything that begins with `open` and ends with `close`. */
import {
  type Attempts,
  type Followers,
  type LogSettings,
  type LogTime,
  startLogTime,
} from "@holdfast/log";
import { type Book, type CacheBounds, createBook } from "./book.ts";
import type { LogFile } from "./file.ts";
import { createRecent, type Recent } from "./recent.ts";
import type { Statements } from "./statements.ts";

export interface Desk {
  readonly run: Statements;
  readonly book: Book;
  readonly recent: Recent;
  readonly settings: LogSettings;
  readonly incarnation: string;
  readonly time: LogTime;
  readonly followers: Followers;
  readonly attempts: Attempts;
  /** The next event's. Never used again while the log is open, even if its transaction fails. */
  nextSeq(): number;
}

export function openDesk(
  file: LogFile,
  settings: LogSettings,
  incarnation: string,
  bounds: CacheBounds,
  lasting: Pick<Desk, "followers" | "attempts">,
): Desk {
  const recent = createRecent();
  let seq = file.seq;
  return {
    ...lasting,
    run: file.run,
    book: createBook(file.run, file.meta, lasting.followers, recent.drop, bounds),
    recent,
    settings,
    incarnation,
    time: startLogTime(settings.clock, file.meta.baseMs),
    nextSeq: () => {
      seq += 1;
      return seq;
    },
  };
}
