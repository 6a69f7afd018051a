/** What went wrong at the store, as an error of the log. */
import { LogError } from "@holdfast/contract";
import { ErrorReply } from "redis";

/** Replies that say something of the server's state, none of what was asked. */
const ofTheServer =
  /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|OOM|NOAUTH|NOPERM|WRONGPASS|NOREPLICAS|UNKILLABLE|ERR max number of clients)/;

/** Replies after which another connection may find a server that takes writes. */
const ofAnotherServer = /^(READONLY|MASTERDOWN)/;

/** @returns `ERR_LOG_UNAVAILABLE`; or the error itself, where it tells of a mistake of ours */
export function storeFault(error: unknown, location: string): unknown {
  if (error instanceof LogError) return error;
  if (error instanceof ErrorReply && !ofTheServer.test(error.message)) return error;
  const what = error instanceof Error ? error.message : String(error);
  return unavailable(location, what, error);
}

export function unavailable(location: string, what: string, cause?: unknown): LogError {
  return new LogError("ERR_LOG_UNAVAILABLE", `${location} is out of reach: ${what}`, { cause });
}

export function isOfAnotherServer(error: unknown): boolean {
  return error instanceof ErrorReply && ofAnotherServer.test(error.message);
}
