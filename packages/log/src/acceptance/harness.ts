/** What a log brings to its acceptance suite: places to keep it, and what can befall them. */
import type { FakeClock, SpawnedProcess } from "@holdfast/testkit";
import type { EventLog } from "../event-log.ts";

/** Where one log is kept: a file, a database, an object. */
export interface LogPlace {
  /** The log that is kept here, not open: another object each time, where it does not die with it. */
  log(): EventLog;
  /** Take everything away; no log is open. */
  remove(): Promise<void>;
}

/** What befalls the nodes of a shared log. */
export interface SharedHarness<Place extends LogPlace = LogPlace> {
  /** How long a node of the suite lives without renewal: as short as `pass` is real, milliseconds. */
  readonly leaseMs: number;
  /** Let so much of the store's time pass; `clock` is that of the nodes. */
  pass(place: Place, ms: number, clock: FakeClock): Promise<void>;
  /** Keep the store out of this log's reach. @returns lets it in again */
  cut?(place: Place, log: EventLog): Promise<() => Promise<void>>;
  /** Lose every message by which nodes wake each other. @returns lets them through again */
  mute?(place: Place): Promise<() => Promise<void>>;
}

/** A capability that a log does not have is left out; its chapter is then not told. */
export interface LogHarness<Place extends LogPlace = LogPlace> {
  place(): Promise<Place>;
  /** How many readers the resume chapter lets come back; fewer where each costs many trips. */
  readonly resumeRuns?: number;
  /** Set when nodes share the log: each `log()` of a place is a node then. */
  readonly shared?: SharedHarness<Place>;
  /** Keep a copy of what is there while no log is open. @returns puts the copy back */
  copy?(place: Place): Promise<() => Promise<void>>;
  /** Run `writeUntilKilled` of `./crash-writer.ts` on the log in a process of its own. */
  spawnWriter?(place: Place): Promise<SpawnedProcess>;
}
