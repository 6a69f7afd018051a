/**
 * Opening and closing the file: whose it is, whether it can be used, what this opening means.
 *
 * Never a silent new file: only a file that does not exist, or has nothing in it, becomes a log.
 */
import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LogError } from "@holdfast/contract";
import { isBusy, openingFault } from "./faults.ts";
import { type Lock, takeLock } from "./lock.ts";
import { applicationId, migrate, schemaVersion } from "./schema.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { type Meta, type Opening, type SqliteDurability, takeOver } from "./takeover.ts";

const pageBytesMin = 512;

/** What is asked at an opening, by indexes alone: sessions may be many. */
export const openingTexts = {
  newest: `select max(seq) as seq, max(
    coalesce((select at_ms from events order by seq desc limit 1), 0),
    coalesce((select max(rest_at_ms) from sessions where ended is null and rest = 0), 0),
    coalesce((select max(rest_at_ms) from sessions where ended is null and rest = 1), 0),
    coalesce((select max(settled_at_ms) from claims where settled_at_ms is not null), 0)
  ) as at_ms from events`,
  live: `select principal, count(*) as sessions from sessions where ended is null
    group by principal`,
};

export interface LogFile {
  readonly path: string;
  readonly db: DatabaseSync;
  readonly lock: Lock;
  readonly meta: Meta;
  readonly run: Statements;
  /** Newest `seq` that the file holds; 0 for none. */
  readonly seq: number;
  /** How many sessions are live, by principal. */
  readonly live: ReadonlyMap<string, number>;
}

/**
 * @param path - of a file that is there or may be made; directories are made
 * @throws LogError `ERR_LOG_LOCKED`, `ERR_LOG_CORRUPT`, `ERR_LOG_NEWER`, `ERR_LOG_UNAVAILABLE`
 */
export function openFile(path: string, opening: Opening, nowMs: number): LogFile {
  const { file, lock } = lockFile(path, nowMs);
  let db: DatabaseSync | undefined;
  try {
    requireWhole(file);
    db = new DatabaseSync(file, { timeout: 0 });
    const version = requireOurs(db, file);
    setUp(db, version, file);
    const newest = db.prepare(openingTexts.newest).get();
    const meta = takeOver(
      version === 0 ? undefined : readMeta(db, file),
      opening,
      number(newest?.at_ms),
    );
    writeMeta(db, meta);
    // The opening itself is on disk; only what follows may be lost with the machine.
    if (opening.durability === "process") db.exec("pragma synchronous = normal");
    const run = prepareStatements(db);
    return { path: file, db, lock, meta, run, seq: number(newest?.seq), live: readLive(db) };
  } catch (error) {
    db?.close();
    lock.release();
    throw openingFault(error, file);
  }
}

/** Everything on disk and in one file; the log is held no longer. */
export function closeFile({ db, lock }: LogFile): void {
  try {
    db.exec("pragma wal_checkpoint(truncate)");
  } catch {
    // A full disk: everything that was committed stays in the write-ahead log, and is found there.
  } finally {
    db.close();
    lock.release();
  }
}

function lockFile(path: string, nowMs: number): { file: string; lock: Lock } {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const joined = join(realpathSync(dirname(path)), basename(path));
    const file = existsSync(joined) ? realpathSync(joined) : joined;
    return { file, lock: takeLock(file, nowMs) };
  } catch (error) {
    if (error instanceof LogError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LogError("ERR_LOG_UNAVAILABLE", `The event log ${path} cannot be opened: ${why}.`, {
      hint: "Check the path and the rights on its directory.",
      seen: why,
      cause: error,
    });
  }
}

/** SQLite takes a file that is shorter than its smallest page for a new one. */
function requireWhole(file: string): void {
  const bytes = existsSync(file) ? statSync(file).size : 0;
  if (bytes === 0 || bytes >= pageBytesMin) return;
  throw new LogError("ERR_LOG_CORRUPT", `The event log ${file} is damaged: it is cut off.`, {
    seen: bytes,
    needed: pageBytesMin,
  });
}

/** @returns the version of the schema; 0 for a new file */
function requireOurs(db: DatabaseSync, file: string): number {
  const owner = number(db.prepare("pragma application_id").get()?.application_id);
  const version = number(db.prepare("pragma user_version").get()?.user_version);
  const tables = number(db.prepare("select count(*) as n from sqlite_schema").get()?.n);
  if (owner === 0 && version === 0 && tables === 0) return 0;
  if (owner !== applicationId) {
    throw new LogError(
      "ERR_LOG_CORRUPT",
      `${file} is a database of another application, not an event log.`,
      { hint: "Give the log a file of its own.", seen: owner, needed: applicationId },
    );
  }
  if (version > schemaVersion) {
    throw new LogError(
      "ERR_LOG_NEWER",
      `The event log ${file} has schema ${version}; this version knows up to ${schemaVersion}.`,
      { seen: version, needed: schemaVersion },
    );
  }
  return version;
}

function setUp(db: DatabaseSync, version: number, file: string): void {
  const mode = db.prepare("pragma journal_mode = wal").get()?.journal_mode;
  if (mode !== "wal") {
    throw new LogError(
      "ERR_LOG_UNAVAILABLE",
      `The file system of ${file} cannot hold a write-ahead log.`,
      { hint: "Put the log on a local file system.", seen: String(mode), needed: "wal" },
    );
  }
  db.exec("pragma synchronous = full");
  db.exec("pragma cache_size = -16000");
  db.exec("pragma journal_size_limit = 67108864");
  migrate(db, version);
}

function readMeta(db: DatabaseSync, file: string): Meta {
  const row = db.prepare("select * from meta").get();
  if (row === undefined) {
    throw new LogError("ERR_LOG_CORRUPT", `The event log ${file} has lost its own record.`);
  }
  return {
    generation: number(row.generation),
    bootId: String(row.boot_id),
    durability: row.durability as SqliteDurability,
    isClean: row.is_clean === 1,
    baseMs: number(row.base_ms),
    lossGeneration: number(row.loss_generation),
    lossIncarnation: String(row.loss_incarnation),
  };
}

function readLive(db: DatabaseSync): ReadonlyMap<string, number> {
  const rows = db.prepare(openingTexts.live).all();
  return new Map(rows.map(({ principal, sessions }) => [String(principal), number(sessions)]));
}

function writeMeta(db: DatabaseSync, meta: Meta): void {
  try {
    db.prepare(
      `insert or replace into meta (id, generation, boot_id, durability, is_clean, base_ms,
        loss_generation, loss_incarnation) values (1, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      meta.generation,
      meta.bootId,
      meta.durability,
      Number(meta.isClean),
      meta.baseMs,
      meta.lossGeneration,
      meta.lossIncarnation,
    );
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw new LogError("ERR_LOG_LOCKED", "Another program is writing to the event log.", {
      hint: "Let it finish, then start again.",
      cause: error,
    });
  }
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
