/**
 * One process holds a state file [C K-12]. The lock is a side database in `begin exclusive`, so
 * that the system frees it however the process dies; who holds it stands in a file beside it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ClientError } from "../client-errors.ts";
import { isBusy, privateFile } from "./file-faults.ts";

export interface FileLock {
  release(): void;
}

/**
 * @param file - absolute path of the state, symbolic links resolved
 * @throws ClientError `ERR_STATE_LOCKED`, naming the holder
 */
export function lockFile(file: string, wallMs: number): FileLock {
  privateFile(`${file}.lock`);
  const db = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  const holder = `${file}.pid`;
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    throw lockedError(file, readHolder(holder), error);
  }
  tellHolder(holder, wallMs);
  held.add(db);
  return {
    release: () => {
      held.delete(db);
      rmSync(holder, { force: true });
      db.close();
    },
  };
}

/** A lock that nobody refers to would be freed with the garbage, in the middle of its use. */
const held = new Set<DatabaseSync>();

interface Holder {
  readonly pid: number;
  readonly since: string;
}

function tellHolder(file: string, wallMs: number): void {
  // The start of the process: what a list of processes shows beside the pid.
  const startedMs = wallMs - Math.round(process.uptime() * 1000);
  const holder: Holder = { pid: process.pid, since: new Date(startedMs).toISOString() };
  try {
    writeFileSync(file, JSON.stringify(holder), { mode: 0o600 });
  } catch {
    // A full disk: the lock holds without it, its message is shorter.
  }
}

function lockedError(file: string, holder: Holder | undefined, cause: unknown): ClientError {
  const who =
    holder === undefined
      ? "another process"
      : `process ${holder.pid}, which was started at ${holder.since}`;
  return new ClientError("ERR_STATE_LOCKED", `The client state ${file} is held by ${who}.`, {
    ...(holder === undefined ? {} : { seen: holder.pid }),
    cause,
  });
}

function readHolder(file: string): Holder | undefined {
  try {
    const { pid, since } = Object(JSON.parse(readFileSync(file, "utf8"))) as Partial<Holder>;
    return typeof pid === "number" && typeof since === "string" ? { pid, since } : undefined;
  } catch {
    // Being written this moment, or taken away: the lock itself is what counts.
    return undefined;
  }
}
