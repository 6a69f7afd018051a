/** What SQLite throws, as the errors of a log. */
import { LogError } from "@holdfast/contract";

/** Result codes of SQLite (https://sqlite.org/rescode.html), without their extensions. */
const codes = { busy: 5, locked: 6, readonly: 8, io: 10, corrupt: 11, full: 13, notADb: 26 };

/** @returns the code without its extension, or `undefined` for an error not of SQLite */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === codes.busy || code === codes.locked;
}

/** An error while a log is opened; anything but SQLite's own passes unchanged. */
export function openingFault(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  const why = (error as Error).message;
  if (code === codes.corrupt || code === codes.notADb) {
    return new LogError("ERR_LOG_CORRUPT", `The event log ${file} is damaged: ${why}.`, {
      seen: why,
      cause: error,
    });
  }
  return new LogError("ERR_LOG_UNAVAILABLE", `The event log ${file} cannot be opened: ${why}.`, {
    seen: why,
    cause: error,
  });
}

/** An error while an open log is used; anything but SQLite's own passes unchanged. */
export function workingFault(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  const why = (error as Error).message;
  return new LogError("ERR_LOG_UNAVAILABLE", `The event log ${file} cannot be used now: ${why}.`, {
    hint: hints[code] ?? hints.default,
    seen: why,
    cause: error,
  });
}

const hints: Readonly<Record<number, string>> & { readonly default: string } = {
  [codes.busy]: "Another program holds a lock on the file: let it go.",
  [codes.readonly]: "The file or its directory is read-only: make it writable for this user.",
  [codes.full]: "The disk is full: make space; the log goes on by itself.",
  [codes.corrupt]: "The file is damaged: stop, and put a backup back or move it away.",
  default: "Check the disk (space, rights); nothing that was acknowledged is lost.",
};
