/**
 * The errors of Holdfast: one base class, one closed union of codes, one table of them (which also
 * makes docs/errors.md). Facts of the network and application events are values and not here;
 * refusals on the wire are in refusals.ts; a wrong argument is a `TypeError`.
 */

/** What one code stands for. */
export interface ErrorEntry {
  /** What has happened, as a sentence. */
  readonly meaning: string;
  /** What to do about it, as a sentence; the `hint` of an error that brings none of its own. */
  readonly fix: string;
}

export type LogErrorCode =
  | "ERR_LOG_LOCKED"
  | "ERR_LOG_CORRUPT"
  | "ERR_LOG_NEWER"
  | "ERR_LOG_UNAVAILABLE"
  | "ERR_LOG_CLOSED";

export type ResumptionErrorCode = "ERR_NO_CURSOR" | "ERR_NO_HEAD" | "ERR_UNEXPECTED_CLOSE";

export type ClientErrorCode =
  | "ERR_CLIENT_OPTION"
  | "ERR_CLIENT_CLOSED"
  | "ERR_HTTP_STATUS"
  | "ERR_NOT_RUN"
  | "ERR_EVENT_TOO_LARGE"
  | "ERR_RETENTION_WINDOW"
  | "ERR_STATE_LOCKED"
  | "ERR_STATE_CORRUPT"
  | "ERR_STATE_NEWER"
  | "ERR_STATE_UNAVAILABLE";

export type HoldfastErrorCode =
  | LogErrorCode
  | ClientErrorCode
  | ResumptionErrorCode
  | "ERR_OPTION"
  | "ERR_RETENTION"
  | "ERR_UPSTREAM_START"
  | "ERR_CURSOR_REFUSED";

export const errorTable: Readonly<Record<HoldfastErrorCode, ErrorEntry>> = {
  ERR_OPTION: {
    meaning: "An option has a value that cannot be used.",
    fix: "Correct the option; `--help` lists what each one takes.",
  },
  ERR_RETENTION: {
    meaning: "The retention window is too short for the clients that are to be served.",
    fix: "Make --window longer, or --client-reconnect or --idle-ttl shorter.",
  },
  ERR_UPSTREAM_START: {
    meaning: "The upstream MCP server could not be started.",
    fix: "Run the command by itself and see what it prints; check its path and its rights.",
  },
  ERR_EVENT_TOO_LARGE: {
    meaning: "One message is larger than an event may be.",
    fix: "Let the tool return less, or a link to a resource, or raise the limit on event bytes.",
  },
  ERR_CURSOR_REFUSED: {
    meaning: "A cursor of the SDK's transport cannot be honoured: events after it are gone.",
    fix: "Begin a new session; or use createSessionHandler, which tells the client what is lost.",
  },
  ERR_LOG_LOCKED: {
    meaning: "Another process holds the event log.",
    fix: "Stop that process, or give this one a log of its own with --log.",
  },
  ERR_LOG_CORRUPT: {
    meaning:
      "The event log is damaged; it was left as it is, and no new one was begun in its place.",
    fix: "Put a backup back, or move the file away to begin with an empty log.",
  },
  ERR_LOG_NEWER: {
    meaning: "The event log was written by a newer version of Holdfast.",
    fix: "Run that version or a later one, or give this one a log of its own with --log.",
  },
  ERR_LOG_UNAVAILABLE: {
    meaning: "The event log could not be read or written now.",
    fix: "Check the disk (space, rights) or the store; nothing that was acknowledged is lost.",
  },
  ERR_LOG_CLOSED: {
    meaning: "The event log was used before it was opened or after it was closed.",
    fix: "Open the log first, and close it only after the last use.",
  },
  ERR_NO_CURSOR: {
    meaning: "A stream cannot be resumed, because no event id was ever seen on it.",
    fix: "Send the request again only if it is safe to repeat; else report its outcome as unknown.",
  },
  ERR_NO_HEAD: {
    meaning: "Events are lost, and the server named no event id from which to go on.",
    fix: "Report a gap of unknown size; end calls that wait on the stream as unknown outcome.",
  },
  ERR_UNEXPECTED_CLOSE: {
    meaning: "A stream was closed or refused in a way that says nothing about the session.",
    fix: "Keep session and cursor, and find out what on the way answered so.",
  },
  ERR_CLIENT_OPTION: {
    meaning: "An option of the transport, or of one call, has a value that cannot be used.",
    fix: "Correct the option.",
  },
  ERR_CLIENT_CLOSED: {
    meaning: "The transport was used before it was started or after it was closed.",
    fix: "Connect a client to it first; for another connection make another transport.",
  },
  ERR_HTTP_STATUS: {
    meaning: "The server refused one request; the session is kept.",
    fix: "See what the server says; a status of 401 or 403 is for the authorization layer.",
  },
  ERR_NOT_RUN: {
    meaning: "A request could not be brought to the server; it certainly did not run.",
    fix: "Send it again when the server is back.",
  },
  ERR_RETENTION_WINDOW: {
    meaning: "The server keeps events for a shorter time than this client may need to come back.",
    fix: "Make the server's window longer, or the client's reconnect policy shorter.",
  },
  ERR_STATE_LOCKED: {
    meaning: "Another process holds the client's state.",
    fix: "Stop that process, or give this one a state of its own.",
  },
  ERR_STATE_CORRUPT: {
    meaning: "The client's state is damaged; it was left as it is.",
    fix: "Put a backup back, or move the file away to begin without sessions and calls.",
  },
  ERR_STATE_NEWER: {
    meaning: "The client's state was written by a newer version of Holdfast.",
    fix: "Run that version or a later one, or give this one a state of its own.",
  },
  ERR_STATE_UNAVAILABLE: {
    meaning: "The client's state could not be read or written now.",
    fix: "Check the disk (space, rights); a request that cannot be noted is not sent.",
  },
};

/** Typed facts about one error. */
export interface ErrorFacts {
  /** What to do about it; the table's own sentence when left out. */
  readonly hint?: string;
  /** The value that was seen. */
  readonly seen?: string | number | null;
  /** The value that was needed. */
  readonly needed?: string | number;
  /** What was thrown underneath. */
  readonly cause?: unknown;
}

/** An error with a stable code, a sentence for people and a hint on what to do. */
export class HoldfastError<Code extends HoldfastErrorCode = HoldfastErrorCode> extends Error {
  override readonly name: string = "HoldfastError";
  readonly code: Code;
  readonly hint: string;
  readonly seen: string | number | null | undefined;
  readonly needed: string | number | undefined;

  constructor(code: Code, message: string, facts: ErrorFacts = {}) {
    super(message, "cause" in facts ? { cause: facts.cause } : {});
    this.code = code;
    this.hint = facts.hint ?? errorTable[code].fix;
    this.seen = facts.seen;
    this.needed = facts.needed;
  }
}

/** What an event log throws. */
export class LogError extends HoldfastError<LogErrorCode> {
  override readonly name = "LogError";
}

/** A resume that was refused because it would have been a guess. */
export class SessionResumptionError extends HoldfastError<ResumptionErrorCode> {
  override readonly name = "SessionResumptionError";
}
