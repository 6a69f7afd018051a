/**
 * What the transport throws, and rejects with: one class, a closed union of codes. Gaps, unknown
 * outcomes, endings and parking are events for the application, and not here.
 */
import type { ErrorEntry, ErrorFacts } from "@holdfast/contract";

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

export const clientErrorTable: Readonly<Record<ClientErrorCode, ErrorEntry>> = {
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
  ERR_EVENT_TOO_LARGE: {
    meaning: "One event is larger than this client takes.",
    fix: "Let the tool return less, or a link to a resource.",
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

/** An error with a stable code, a sentence for people and a hint on what to do. */
export class ClientError<Code extends ClientErrorCode = ClientErrorCode> extends Error {
  override readonly name: string = "ClientError";
  readonly code: Code;
  readonly hint: string;
  readonly seen: string | number | null | undefined;
  readonly needed: string | number | undefined;

  constructor(code: Code, message: string, facts: ErrorFacts = {}) {
    super(message, "cause" in facts ? { cause: facts.cause } : {});
    this.code = code;
    this.hint = facts.hint ?? clientErrorTable[code].fix;
    this.seen = facts.seen;
    this.needed = facts.needed;
  }
}

/** The answer of a server that refuses one request; `status` is its HTTP status. */
export class HttpStatusError extends ClientError<"ERR_HTTP_STATUS"> {
  override readonly name = "HttpStatusError";
  readonly status: number;
  /** The beginning of the answer's body. */
  readonly body: string;

  constructor(what: string, status: number, body: string) {
    const said = body.trim() === "" ? "" : `: ${body.trim().slice(0, 200)}`;
    super("ERR_HTTP_STATUS", `${what} was answered with status ${status}${said}`, {
      seen: status,
    });
    this.status = status;
    this.body = body;
  }
}
