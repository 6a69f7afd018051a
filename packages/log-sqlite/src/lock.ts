/**
 * One process holds a log. The lock is a side database in `begin exclusive`, so that the system
 * frees it however the process dies; who holds it stands in a file beside it, for people.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { LogError } from "@holdfast/contract";
import { isBusy } from "./faults.ts";

export interface Lock {
  release(): void;
}

/**
 * @param file - absolute path of the log, symbolic links resolved
 * @throws LogError `ERR_LOG_LOCKED`, naming the holder
 */
export function takeLock(file: string, nowMs: number): Lock {
  const db = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  const holder = `${file}.pid`;
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    throw lockedError(file, readHolder(holder), error);
  }
  tellHolder(holder, nowMs);
  held.add(db);
  return {
    release: () => {
      held.delete(db);
      rmSync(holder, { force: true });
      db.close();
    },
  };
}

function tellHolder(file: string, nowMs: number): void {
  const holder: Holder = { pid: process.pid, since: new Date(nowMs).toISOString() };
  try {
    writeFileSync(file, JSON.stringify(holder));
  } catch {
    // A full disk: the lock holds without it, its message is shorter.
  }
}

function lockedError(file: string, holder: Holder | undefined, cause: unknown): LogError {
  const who =
    holder === undefined ? "another process" : `process ${holder.pid} since ${holder.since}`;
  return new LogError("ERR_LOG_LOCKED", `The event log ${file} is held by ${who}.`, {
    hint: "Stop that process, or give this one a file of its own.",
    ...(holder === undefined ? {} : { seen: holder.pid }),
    cause,
  });
}

/** A lock that nobody refers to would be freed with the garbage, in the middle of its use. */
const held = new Set<DatabaseSync>();

interface Holder {
  readonly pid: number;
  readonly since: string;
}

function readHolder(file: string): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof holder !== "object" || holder === null) return undefined;
    if (!("pid" in holder) || typeof holder.pid !== "number") return undefined;
    if (!("since" in holder) || typeof holder.since !== "string") return undefined;
    return { pid: holder.pid, since: holder.since };
  } catch {
    // Being written this moment, or taken away: the lock itself is what counts.
    return undefined;
  }
}
