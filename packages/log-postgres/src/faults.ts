/** What PostgreSQL and the way to it throw: what may be tried again, and errors of a log. */
import { LogError } from "@holdfast/contract";

/**
 * `again`: nothing happened, the same may succeed now. `lost`: the connection is gone, and whether
 * anything happened is not known. `refused`: the store has said no.
 */
export type FaultKind = "again" | "lost" | "refused";

/** Serialization failure, deadlock, lock not to be had in time. */
const againStates = new Set(["40001", "40P01", "55P03"]);

/**
 * States in which another connection, later, may find all well: the server stops or starts, has no
 * connection left, is a standby (the other is the primary), or has cancelled what took too long.
 */
const lostStates = new Set(["57P01", "57P02", "57P03", "57P05", "53300", "25006", "57014"]);

/** What a client that was not given a state by the server says. */
export function faultKind(error: unknown): FaultKind {
  const state = stateOf(error);
  // Not of the server: a socket, a name, a timeout.
  if (state === undefined) return "lost";
  if (againStates.has(state)) return "again";
  // Class 08: connection exceptions.
  return lostStates.has(state) || state.startsWith("08") ? "lost" : "refused";
}

/** SQLSTATE of an error that the server sent. */
export function stateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in error
    ? code
    : undefined;
}

/** @param location - of the log, without a password */
export function unavailable(location: string, error: unknown): LogError {
  if (error instanceof LogError) return error;
  const why = reasonOf(error);
  const state = stateOf(error);
  return new LogError(
    "ERR_LOG_UNAVAILABLE",
    `The event log ${location} cannot be used now: ${why}.`,
    {
      hint: hintOf(state),
      seen: state ?? why,
      cause: error,
    },
  );
}

function reasonOf(error: unknown): string {
  // Of several addresses of one name, each has failed by itself.
  const one = error instanceof AggregateError ? error.errors[0] : error;
  return one instanceof Error ? one.message.replace(/\.$/, "") : String(one);
}

function hintOf(state: string | undefined): string {
  if (state === undefined) return hints.unreachable;
  return hints[state] ?? hints[state.slice(0, 2)] ?? hints.other;
}

const hints: Readonly<Record<string, string>> & {
  readonly unreachable: string;
  readonly other: string;
} = {
  unreachable: "Check that the database is up and reached from here; the log goes on by itself.",
  "25006": "This is a standby: name the primary; after a failover the log goes on by itself.",
  "28": "Check user and password, and what pg_hba.conf lets in.",
  "3D000": "Make the database, or name another one.",
  "42501": "Give this user the right to use the schema, or let its owner start once.",
  "53100": "The disk of the database is full: make space; the log goes on by itself.",
  "53300": "The database has no connection left: raise max_connections, or use fewer.",
  other: "Look into the log of the database; nothing that was acknowledged is lost.",
};
