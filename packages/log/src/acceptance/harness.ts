/** What a log brings to its acceptance suite: places to keep it, and what can befall them. */
import type { SpawnedProcess } from "@holdfast/testkit";
import type { EventLog } from "../event-log.ts";

/** Where one log is kept: a file, a database, an object. */
export interface LogPlace {
  /** The log that is kept here, not open: another object each time, where it does not die with it. */
  log(): EventLog;
  /** Take everything away; no log is open. */
  remove(): Promise<void>;
}

/** A capability that a log does not have is left out; its chapter is then not told. */
export interface LogHarness<Place extends LogPlace = LogPlace> {
  place(): Promise<Place>;
  /** Keep a copy of what is there while no log is open. @returns puts the copy back */
  copy?(place: Place): Promise<() => Promise<void>>;
  /** Run `writeUntilKilled` of `./crash-writer.ts` on the log in a process of its own. */
  spawnWriter?(place: Place): Promise<SpawnedProcess>;
}
