/**
 * What can be set on the session runtime, with the defaults of the product.
 */
import type { Retention } from "@holdfast/contract";
import { leaseMsDefault } from "@holdfast/log";

/** How a cursor that cannot be honoured is answered [C R-09]. */
export type GapSignal = "auto" | "status" | "in-band";

export interface RuntimeOptions {
  /** Where the endpoint is; `undefined` leaves the choice to the web framework. */
  readonly path: string | undefined;
  readonly retention: Retention;
  /** How long a session may rest before it expires [C S-02]. */
  readonly idleTtlMs: number;
  /** The longest that a client may take to come back [C W-02]. */
  readonly clientReconnectMs: number;
  /** Pause between comments on an idle viewport; 0 for none [C E-06]. */
  readonly heartbeatMs: number;
  /** What `retry:` tells clients [C E-05]. */
  readonly retryMs: number;
  /** How long a viewport may live; 0 for no end [C E-11]. */
  readonly viewportMaxMs: number;
  readonly gapSignal: GapSignal;
  /** Names of clients (`clientInfo.name`) that get no priming event [C E-05]. */
  readonly noPrime: readonly string[];
  /** Added to the loopback origins and hosts [C P-01]: `https://app.example`, `mcp.example:8443`. */
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  /** Largest request body, bytes. */
  readonly bodyBytesMax: number;
  /** Live sessions in all, and of one principal (where there are principals). */
  readonly sessionsMax: number;
  readonly sessionsPerPrincipalMax: number;
  /** Streams of a session with a call that runs, and such calls. */
  readonly streamsPerSessionMax: number;
  readonly callsPerSessionMax: number;
  /** Open responses in all. */
  readonly viewportsMax: number;
  /** How long the outcome of a call with an idempotency key is kept [C X-03]. */
  readonly idempotencyTtlMs: number;
  /** What those outcomes may have together, bytes; a new key is refused beyond [C P-02]. */
  readonly ledgerBytesMax: number;
  /** Without authentication: callers share their keys. For endpoints on loopback alone. */
  readonly sharesKeys: boolean;
  /**
   * Headers of clients that are passed on to the upstream, lower-case names; `all` for one in this
   * process, which is told who calls, too.
   */
  readonly forwardHeaders: readonly string[] | "all";
  /** Put a session out of memory, and end its upstream, after so much quiet; 0 for never. */
  readonly hibernateMs: number;
  /**
   * How long a result may wait for a log that takes no writes before its caller is told that the
   * outcome is unknown.
   */
  readonly storePatienceMs: number;
  /** Of a log that many nodes share: a node that says nothing for so long is gone [C N-03]. */
  readonly leaseMs: number;
}

const minute = 60_000;
const mebibyte = 2 ** 20;

export const defaultOptions: RuntimeOptions = {
  path: undefined,
  retention: { windowMs: 30 * minute, maxEvents: 10_000, maxBytes: 64 * mebibyte },
  idleTtlMs: 30 * minute,
  clientReconnectMs: 3 * minute,
  heartbeatMs: 15_000,
  retryMs: 1_000,
  viewportMaxMs: 0,
  gapSignal: "auto",
  noPrime: [],
  allowedOrigins: [],
  allowedHosts: [],
  bodyBytesMax: 4 * mebibyte,
  sessionsMax: 10_000,
  sessionsPerPrincipalMax: 1_000,
  streamsPerSessionMax: 256,
  callsPerSessionMax: 256,
  viewportsMax: 20_000,
  idempotencyTtlMs: 24 * 60 * minute,
  ledgerBytesMax: 1024 * mebibyte,
  sharesKeys: false,
  forwardHeaders: [],
  hibernateMs: 0,
  storePatienceMs: minute,
  leaseMs: leaseMsDefault,
};

/** Named bounds that nobody needs to set. */
export const bounds = {
  /** A viewport reads this much of the log at a time. */
  readEventsMax: 128,
  readBytesMax: 256 * 1024,
  /** One write to a socket, characters. */
  sliceCharsMax: 64 * 1024,
  /** Text that blocked viewports may hold together before they let go of it, characters. */
  heldCharsMax: 16 * mebibyte,
  /** How long a blocked viewport may hold its text within that, milliseconds. */
  holdMs: 2_000,
  /** One write of an event that had to be read again for it, characters. */
  rereadSliceCharsMax: 256 * 1024,
  /** Heartbeats that a socket may fail to drain before it is given up [C E-09]. */
  stallHeartbeats: 3,
  /** The same where heartbeats are off, milliseconds. */
  stallMs: 45_000,
  /** `retry:` for a viewport that another took over [C R-02], milliseconds. */
  takeoverRetryMs: 5_000,
  /** How long what is said at last to a peer that nobody waits for may take, milliseconds. */
  lingerMs: 1_000,
  /** A refused cursor that comes again within this is served in-band [C R-09], milliseconds. */
  repeatMs: 60_000,
  /** Refused cursors that a session remembers. */
  refusedCursorsMax: 64,
  /** Text that may wait for an upstream that does not read, characters. */
  upstreamQueueCharsMax: 16 * mebibyte,
  /** Pause before an upstream that died young is replaced: after the first, and at most. */
  restartPauseMs: 100,
  restartPauseMaxMs: 5_000,
  /** An upstream that lives shorter than this died young, milliseconds. */
  youngMs: 5_000,
  /** How long the gateway waits for the list of tools, milliseconds, and how many pages it reads. */
  toolListMs: 10_000,
  toolListPagesMax: 100,
  /** Text that may wait for the log before the upstream is no longer read, characters. */
  commitQueueCharsMax: 4 * mebibyte,
  /** Pause before a failed commit is tried again: first, and longest, milliseconds. */
  commitRetryMs: 100,
  commitRetryMaxMs: 5_000,
  /** How long a repeated key waits for what became of a call that the log did not take. */
  undoneWaitMs: 2_000,
  /** Such calls, of which a key is remembered. */
  undeliveredMax: 1_000,
  /** Delay before the position that was written to a socket is stored [C R-07], milliseconds. */
  writtenDelayMs: 1_000,
  /** The same where another node may show the stream next. */
  writtenDelaySharedMs: 50,
  /** Pause before a viewport reads again from a store that is away: the first, milliseconds. */
  readRetryMs: 100,
  /** Pause between sweeps of the log: a twentieth of the window, within these, milliseconds. */
  sweepPauseMinMs: 20,
  sweepPauseMaxMs: 1_000,
  /** Pause between two log lines about breaches, milliseconds. */
  breachLogPauseMs: 1_000,
  /** [C S-03] A session whose client never came back after `initialize`, milliseconds. */
  unusedTtlMs: 60_000,
  /** Sessions that one step of the sweep ends. */
  expireSessionsMax: 100,
  /** The log hears of a session's use within a twentieth of its idle time, and within this. */
  touchLagMaxMs: 60_000,
  /** How long the log may take to say that it is there, milliseconds. */
  healthMs: 2_000,
  /** A log whose last write failed is taken for ready again after so long: somebody has to try. */
  logFailingMs: 10_000,
  /** `Retry-After` of a refusal, seconds. */
  retryAfterS: 5,
} as const;
