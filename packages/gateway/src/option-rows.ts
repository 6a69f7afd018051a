/**
 * The options of `holdfast serve`: one table from which come the command line, the `HOLDFAST_…`
 * variables, the defaults and the help. What the texts mean is read in serve-options.ts. Those of
 * `holdfast connect` have the same shape and a table of their own.
 */

export interface OptionRow {
  /** Without the dashes. */
  readonly name: string;
  /** What it takes, for the help; empty: nothing, it is said or not. */
  readonly value: string;
  readonly fallback: string;
  readonly group: string;
  readonly help: string;
  /** May be given several times; its variable is a list by comma. */
  readonly isList?: true;
}

const where = "What it serves, and where it listens:";
const access = "Who may ask:";
const kept = "What is kept, and for how long (per session):";
const wire = "On the wire:";
/** The help tells these by name alone. */
export const limitsGroup = "Limits:";
const other = "Other:";

/** Of what is served, where that is no command. */
const upstreamRows: readonly OptionRow[] = [
  row(where, "upstream", "URL", "", "serve the Streamable HTTP server at this URL, not a command"),
  list(where, "upstream-header", "'K: V'", "send it this header with every request (repeatable)"),
  list(where, "forward-header", "NAME", "pass this header of clients on to it (repeatable)"),
];

/** Those of a start that has its server already. */
export const runtimeOptionRows: readonly OptionRow[] = [
  row(where, "host", "ADDRESS", "127.0.0.1", "address to listen on"),
  row(where, "port", "PORT", "8848", "port; 0 for any free one"),
  row(where, "path", "PATH", "/mcp", "path of the MCP endpoint"),
  row(
    where,
    "admin-port",
    "PORT",
    "auto",
    "dashboard and metrics; auto: 8849 or a free one; 0: off",
  ),
  row(where, "admin-host", "ADDRESS", "127.0.0.1", "address of the admin port"),
  row(where, "public-url", "URL", "", "how clients reach it, where that is not its address"),
  row(access, "auth", "HOW", "none", "none; bearer:FILE, lines TOKEN SUBJECT; jwt:ISSUER"),
  row(access, "audience", "URL", "", "what a jwt must be made for, if not the public URL"),
  row(access, "admin-token", "TOKEN", "", "needed beyond loopback; better in its variable"),
  row(access, "show-bodies", "", "", "let the dashboard show the messages themselves"),
  list(access, "allowed-origin", "ORIGIN", "allow this Origin beside loopback (repeatable)"),
  list(access, "allowed-host", "HOST", "allow this Host beside loopback (repeatable)"),
  row(
    kept,
    "log",
    "WHERE",
    "sqlite:./holdfast.db",
    "the event log: sqlite:FILE, redis://…, postgres://…, memory:",
  ),
  row(kept, "durability", "LEVEL", "process", "loss that sqlite survives: process, or power"),
  row(kept, "strict", "", "", "refuse a redis server that may drop data"),
  row(kept, "window", "TIME", "30m", "how long events are kept, and clients may be away"),
  row(kept, "max-events", "N", "10000", "cap on events, results excepted"),
  row(kept, "max-bytes", "SIZE", "64mb", "cap on bytes"),
  row(kept, "idle-ttl", "TIME", "30m", "end a session that was idle for so long"),
  row(kept, "client-reconnect", "TIME", "3m", "the longest a client takes to come back"),
  row(kept, "idempotency-ttl", "TIME", "24h", "how long idempotency keys keep their result"),
  row(kept, "lease", "TIME", "10s", "of many nodes: a silent one is taken for dead after"),
  row(kept, "hibernate", "TIME", "0", "end the child after so much quiet; 0 for never"),
  row(wire, "heartbeat", "TIME", "15s", "a comment on each idle stream this often; 0 for none"),
  row(wire, "retry", "TIME", "1s", "how long clients wait before they reconnect"),
  row(wire, "viewport-max", "TIME", "0", "let each response go after so long; 0 for never"),
  row(wire, "gap-signal", "HOW", "auto", "how lost events are told: auto, status, in-band"),
  list(wire, "no-prime", "NAME", "no priming event for the client of this name (repeatable)"),
  row(limitsGroup, "max-key-bytes", "SIZE", "1024mb", "bytes of all results kept for keys"),
  row(limitsGroup, "max-body", "SIZE", "4mb", "largest body of a request"),
  row(limitsGroup, "max-event", "SIZE", "32mb", "largest message of the MCP server"),
  row(limitsGroup, "max-sessions", "N", "10000", "sessions in all"),
  row(limitsGroup, "max-sessions-per-principal", "N", "1000", "sessions of one principal"),
  row(limitsGroup, "max-streams", "N", "256", "streams with a running call, per session"),
  row(limitsGroup, "max-calls", "N", "256", "calls in flight, per session"),
  row(limitsGroup, "max-viewports", "N", "20000", "open responses in all"),
  row(limitsGroup, "header-timeout", "TIME", "10s", "time for the headers of a request to arrive"),
  row(limitsGroup, "body-timeout", "TIME", "60s", "time for a whole request to arrive"),
  row(limitsGroup, "keep-alive", "TIME", "65s", "close a connection that was idle for so long"),
  row(other, "drain-timeout", "TIME", "30s", "time to stop in: running calls may end until then"),
  row(other, "log-level", "LEVEL", "info", "trace, debug, info, warn, error, fatal, silent"),
];

export const serveOptionRows: readonly OptionRow[] = [...upstreamRows, ...runtimeOptionRows];

/** The variable that stands for an option: `max-events` → `HOLDFAST_MAX_EVENTS`. */
export function variableOf(name: string): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** A row of a table of options. */
export function row(
  group: string,
  name: string,
  value: string,
  fallback: string,
  help: string,
): OptionRow {
  return { group, name, value, fallback, help };
}

/** One that may be given several times. */
export function list(group: string, name: string, value: string, help: string): OptionRow {
  return { group, name, value, fallback: "", help, isList: true };
}
