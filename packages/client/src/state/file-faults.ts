/** What SQLite and the file system throw, as errors of the client's state. */
import { closeSync, openSync } from "node:fs";
import { ClientError } from "../client-errors.ts";

/** Result codes of SQLite (https://sqlite.org/rescode.html), without their extensions. */
const codes = { busy: 5, locked: 6, corrupt: 11, notADb: 26 };

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === codes.busy || code === codes.locked;
}

/** Any error but our own becomes one with a code. */
export function stateFault(error: unknown, file: string): ClientError {
  if (error instanceof ClientError) return error;
  const code = sqliteCode(error);
  const why = error instanceof Error ? error.message : String(error);
  if (code === codes.corrupt || code === codes.notADb) {
    return new ClientError("ERR_STATE_CORRUPT", `The client state ${file} is damaged: ${why}.`, {
      cause: error,
    });
  }
  const text = `The client state ${file} cannot be used now: ${why}.`;
  return new ClientError("ERR_STATE_UNAVAILABLE", text, { cause: error });
}

/** Make the file, if there is none, for its owner alone: it holds arguments and results. */
export function privateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    // One that is there is not even opened: to close it would free the locks of this process on it.
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
  }
}

function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}
