/**
 * State in a SQLite file, held by one process at a time. What is committed survives kill -9; with
 * `durability: "power"` it also survives a loss of power, for a wait on the disk each time.
 */
import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ClientError } from "../client-errors.ts";
import { type ClientState, idBlock, type StoredState } from "./client-state.ts";
import { privateFile, stateFault } from "./file-faults.ts";
import { type FileLock, lockFile } from "./file-lock.ts";
import { readState } from "./file-rows.ts";
import { migrate, requireOurs } from "./file-schema.ts";
import { type ApplyChange, changeWriter } from "./file-writes.ts";

export interface FileStateOptions {
  /** What a committed change survives: the death of the process (default), or a power loss. */
  readonly durability?: "process" | "power";
}

interface OpenFile {
  readonly db: DatabaseSync;
  readonly lock: FileLock;
  readonly file: string;
  readonly apply: ApplyChange;
}

/**
 * Keep the state in a file, which is made if there is none, for its owner alone.
 *
 * @param path - beside it stand `.lock`, `.pid` and SQLite's own files; directories are made
 */
export function fileState(path: string, options: FileStateOptions = {}): ClientState {
  let open: OpenFile | undefined;
  const opened = (): OpenFile => {
    if (open !== undefined) return open;
    throw new ClientError("ERR_CLIENT_CLOSED", `The client state ${path} is not open.`);
  };
  return {
    isDurable: true,
    open: (wallMs) => {
      if (open !== undefined) {
        throw new ClientError("ERR_STATE_LOCKED", `${path} is held by another transport.`, {
          hint: "Close that transport first, or give each one a state of its own.",
        });
      }
      const { state, ...rest } = openFile(path, options.durability ?? "process", wallMs);
      open = rest;
      return state;
    },
    reserveIds: () => {
      const { db, file } = opened();
      return transact(db, file, () => {
        const text = "update meta set next_id = next_id + ? returning next_id - ? as first";
        return Number(db.prepare(text).get(idBlock, idBlock)?.first);
      });
    },
    commit: (changes) => {
      const { db, file, apply } = opened();
      transact(db, file, () => changes.forEach(apply));
    },
    close: () => {
      const closing = open;
      open = undefined;
      closing?.db.close();
      closing?.lock.release();
    },
  };
}

function openFile(
  path: string,
  durability: "process" | "power",
  wallMs: number,
): OpenFile & { readonly state: StoredState } {
  let lock: FileLock | undefined;
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const joined = join(realpathSync(dirname(path)), basename(path));
    const file = existsSync(joined) ? realpathSync(joined) : joined;
    lock = lockFile(file, wallMs);
    requireWhole(file);
    privateFile(file);
    db = new DatabaseSync(file, { timeout: 0 });
    const version = requireOurs(db, file);
    db.exec("pragma journal_mode = wal");
    db.exec(`pragma synchronous = ${durability === "power" ? "full" : "normal"}`);
    migrate(db, version);
    return { db, lock, file, apply: changeWriter(db), state: readState(db, file) };
  } catch (error) {
    db?.close();
    lock?.release();
    throw stateFault(error, path);
  }
}

/** SQLite takes a file that is shorter than its smallest page for a new one. */
function requireWhole(file: string): void {
  const bytes = existsSync(file) ? statSync(file).size : 0;
  if (bytes === 0 || bytes >= pageBytesMin) return;
  throw new ClientError("ERR_STATE_CORRUPT", `The client state ${file} is cut off.`, {
    seen: bytes,
    needed: pageBytesMin,
  });
}

const pageBytesMin = 512;

function transact<T>(db: DatabaseSync, file: string, run: () => T): T {
  try {
    db.exec("begin immediate");
    const value = run();
    db.exec("commit");
    return value;
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw stateFault(error, file);
  }
}
