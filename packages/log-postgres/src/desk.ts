/** What an open log works with: everything that begins with `open` and ends with `close`. */
import type { Attempts, LogSettings, NodeId, PossibleLoss } from "@holdfast/log";
import type { Book } from "./book.ts";
import type { Connections } from "./connections.ts";
import type { SharedTime } from "./shared-time.ts";

/** What this node knows of the log as a whole; replaced when it has met another store. */
export interface LogTerm {
  readonly generation: number;
  readonly loss: PossibleLoss;
}

export interface Desk {
  readonly settings: LogSettings;
  readonly connections: Connections;
  readonly book: Book;
  readonly time: SharedTime;
  readonly attempts: Attempts;
  readonly term: () => LogTerm;
  /** Who this process is now. */
  readonly node: () => NodeId;
  readonly randomIncarnation: () => string;
  /** Look at the store again: the log is in another generation. */
  readonly meet: () => Promise<void>;
  /** The store has been seen to be older than what this node knows of it [C R-08]. */
  readonly onOlder: () => Promise<void>;
}
