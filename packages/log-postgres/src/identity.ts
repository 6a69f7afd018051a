/**
 * Which store the log has met, and whether acknowledged events may be lost since it last looked
 * [C R-08]. Pure.
 *
 * PostgreSQL keeps what it acknowledged through its own crashes. Events are lost when another state of
 * the data is put in its place: a standby that lagged is promoted, a backup is put back, or the
 * machine goes down while the server was told not to wait for the disk.
 */

/** One state of the data, as far as it can be told from another. */
export interface StoreIdentity {
  /** Of the cluster, given when it was made. */
  readonly system: string;
  /** A new one begins at each promotion and at each recovery to a point in time. */
  readonly timeline: string;
  readonly database: string;
  /** Of the table `meta`: another one, if the tables were made again from a dump. */
  readonly table: string;
  /** When the server was started. */
  readonly started: string;
  /** A crash of its machine may lose what the server has acknowledged. */
  readonly isLossy: boolean;
  /** Each commit was on a standby, too, before it was acknowledged. */
  readonly isReplicated: boolean;
}

export type Meeting =
  /** Nothing of the store has changed. */
  | "same"
  /** New to the log, started again, or set up in another way: nothing acknowledged is lost. */
  | "changed"
  /** It may have lost acknowledged events. */
  | "loss";

/** @param noted - as it was when the log last looked; `null` for never */
export function meet(noted: StoreIdentity | null, now: StoreIdentity): Meeting {
  if (noted === null) return "changed";
  const isOther =
    noted.system !== now.system || noted.database !== now.database || noted.table !== now.table;
  if (isOther) return "loss";
  // A standby that each commit was waiting for has them all.
  if (noted.timeline !== now.timeline && !noted.isReplicated) return "loss";
  if (noted.started !== now.started && noted.isLossy) return "loss";
  return isSame(noted, now) ? "same" : "changed";
}

function isSame(a: StoreIdentity, b: StoreIdentity): boolean {
  return (Object.keys(b) as (keyof StoreIdentity)[]).every((fact) => a[fact] === b[fact]);
}

/** What the server says of itself; the columns of hello.sql. */
export interface StoreSettings {
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly standbys: string;
  readonly version: number;
  readonly version_text: string;
}

export function isLossy({ fsync, full_page_writes }: StoreSettings): boolean {
  return fsync !== "on" || full_page_writes !== "on";
}

/** The log raises `off` to `on` for itself (connections.ts). */
export function isReplicated({ synchronous_commit, standbys }: StoreSettings): boolean {
  return standbys.trim() !== "" && ["on", "off", "remote_apply"].includes(synchronous_commit);
}

/** The oldest that is tried in every test run is 15; what is used is there since 14. */
const versionMin = 140_000;

/** Sentences for the operator, said once at the start. */
export function storeWarnings(settings: StoreSettings): readonly string[] {
  const { version, version_text, fsync, full_page_writes, synchronous_commit } = settings;
  const warnings: string[] = [];
  if (version < versionMin) {
    warnings.push(`PostgreSQL ${version_text} is older than 14, the oldest that this log knows.`);
  }
  if (fsync !== "on") {
    warnings.push(
      "fsync is off: a crash of the database's machine may lose acknowledged events; after each " +
        "restart of the server all cursors from before are refused.",
    );
  }
  if (full_page_writes !== "on") {
    warnings.push(
      "full_page_writes is off: a crash of the database's machine may damage the log; after each " +
        "restart of the server all cursors from before are refused.",
    );
  }
  if (synchronous_commit === "off") {
    warnings.push(
      "synchronous_commit is off: this log turns it on for its own connections, so that what it " +
        "acknowledges is on disk.",
    );
  }
  return warnings;
}
