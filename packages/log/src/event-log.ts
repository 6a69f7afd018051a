/**
 * The event log: what every store of sessions implements, and nothing of how it does so.
 *
 * A session is a set of streams; a stream is a sequence of events at positions 1, 2, 3 … without
 * holes. Everything that a session knows changes through one atomic operation, `commit`; everything
 * that a viewport shows comes from one, `read`. No type of a connection or a transaction shows here.
 */
import type { EventPlace, OutcomeUnknownReason, Retention } from "@holdfast/contract";
import type { Holding, SharedLog } from "./shared-log.ts";

declare const brand: unique symbol;
/** The value of `Mcp-Session-Id`: a secret; never in logs or metrics, its tag stands for it. */
export type SessionId = string & { readonly [brand]: "SessionId" };

/** What an acknowledged commit survives: nothing, the death of the process, or of the machine. */
export type Durability = "memory" | "process" | "power";

/** Why a session ended; kept as its tombstone [C S-04]. */
export type EndReason = "deleted" | "expired" | "ended";

/** `response` is never evicted by a cap [C W-03]; a `request` waits for the client's answer. */
export type EventKind = "notification" | "request" | "response";

/** An idempotency key, claimed for a call before it is delivered [C X-03]. */
export interface KeyClaim {
  /** Whose keys: those of a principal, or of a session. */
  readonly scope: string;
  readonly key: string;
  /** Of the payload: tells a repetition from another call under the same key. */
  readonly digest: string;
  /** Take the key over from a call whose outcome is unknown: this one may run again. */
  readonly isRerun: boolean;
}

/** What the idempotency ledger holds of a key; it outlives sessions and events. */
export interface Claim {
  readonly digest: string;
  readonly session: SessionId;
  readonly stream: number;
  /** Index among the calls of the stream. */
  readonly call: number;
  /** The call as it was made under the key first. */
  readonly request: Call;
  readonly outcome:
    | { readonly kind: "running" }
    /** The final response, with the id of `request`. */
    | { readonly kind: "answered"; readonly text: string }
    | { readonly kind: "unknown"; readonly reason: OutcomeUnknownReason };
}

/** A JSON-RPC request of the client, as its stream keeps it. */
export interface Call {
  /** The client's own request id as JSON text: `7`, `"7"`, `12345678901234567890`. */
  readonly id: string;
  readonly method: string;
  /** Name of the tool, prompt or resource, where the method has one. */
  readonly name?: string;
  /** Wall clock, milliseconds since the epoch. For people; no decision rests on it. */
  readonly startedAtMs: number;
  readonly claim?: KeyClaim;
}

/**
 * `answered` (its response is the event at `position`) and `cancelled` are final. A stream of calls
 * is finished when none is running.
 */
export type CallState = Call &
  (
    | { readonly state: "running" }
    | { readonly state: "answered"; readonly position: number }
    | { readonly state: "cancelled" }
  );

/** From `from` on, positions of a stream were appended (or vouched for) under `incarnation`. */
export interface IncarnationRun {
  readonly from: number;
  readonly incarnation: string;
}

export interface StreamState {
  readonly stream: number;
  /** Empty for the standalone stream; one for a POSTed request; several for an array. */
  readonly calls: readonly CallState[];
  /** Rising by `from`; the first begins at or before `evictedThrough`. */
  readonly runs: readonly IncarnationRun[];
  /** Newest appended position; 0 for none. Kept when every event is evicted [C R-04]. */
  readonly head: number;
  /** Positions up to here are gone; 0 for none. Eviction takes a prefix, no more. */
  readonly evictedThrough: number;
  /** Newest position that was handed to a socket, stored lazily [C R-07]. */
  readonly writtenThrough: number;
  /** Nothing more will come. Never true of the standalone stream. */
  readonly isFinished: boolean;
  /** The newest viewport that was attached to it; others let go [C R-02]. In shared logs alone. */
  readonly viewer?: string;
}

export interface SessionState {
  readonly session: SessionId;
  /** The session's part of its event ids; safe to show. */
  readonly tag: string;
  /** Who opened it [C S-06]; the empty string without authentication. */
  readonly principal: string;
  /** What the session runtime keeps: its own text, opaque here. */
  readonly data: string;
  /** Wall clock, milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Set: the session is over, and this is its tombstone. */
  readonly ended?: EndReason;
  /** The number that the next new stream may take. */
  readonly nextStream: number;
  /** As `session` gives it in shared logs; not of a tombstone. */
  readonly holding?: Holding;
}

export type Op =
  /** A new session, with its standalone stream. First in its commit. */
  | {
      readonly op: "create";
      readonly tag: string;
      readonly principal: string;
      readonly data: string;
    }
  /** Replace the runtime's own text. */
  | { readonly op: "record"; readonly data: string }
  /**
   * A new stream for these calls (one or more), all running. Their keys are claimed in the same
   * step; a key that another call holds refuses the whole commit. `next` is the number that the
   * session has for it: nodes that open at once do not collide.
   */
  | { readonly op: "open"; readonly stream: number | "next"; readonly calls: readonly Call[] }
  /** The next event of a stream. A `response` names the call (index) that it answers. */
  | {
      readonly op: "append";
      readonly stream: number;
      readonly kind: "notification" | "request";
      readonly text: string;
    }
  | {
      readonly op: "append";
      readonly stream: number;
      readonly kind: "response";
      readonly text: string;
      readonly call: number;
      /** Set when the response says that the outcome is unknown; the ledger keeps why. */
      readonly unknown?: OutcomeUnknownReason;
    }
  /** A call that will have no response [C X-01]; its key answers `window-expired`. */
  | { readonly op: "cancel"; readonly stream: number; readonly call: number }
  /** Events of the standalone stream up to here were handed to a socket [C R-07]. */
  | { readonly op: "written"; readonly stream: number; readonly position: number }
  /** The session was in use until now; set `isUsed` once its client came back to it [C S-03]. */
  | { readonly op: "touch"; readonly isUsed: boolean }
  /** An entry for the inbox of the owner. Shared logs alone. */
  | { readonly op: "send"; readonly text: string }
  /** Another viewport shows the stream: who follows it is woken [C R-02]. Shared logs alone. */
  | { readonly op: "attach"; readonly stream: number; readonly viewer: string }
  /** The session is over. Its events stay readable for the viewports that show them now. */
  | { readonly op: "end"; readonly reason: EndReason };

export interface Commit {
  /** Names this attempt: the same id again gives the first outcome and changes nothing. */
  readonly id?: string;
  /**
   * Fencing token of the owner, checked in the same step; ignored where one process holds the log.
   * In a shared log 0 stands for any node, owner or not: it may `create` (and owns the session then,
   * with fence 1), `open`, `send`, `attach`, `touch`, and note what was `written`; the rest is the
   * owner's alone.
   */
  readonly fence: number;
  readonly ops: readonly Op[];
}

/** Events that left the log. */
export interface Eviction {
  readonly session: SessionId;
  readonly stream: number;
  /** The stream's new `evictedThrough`. */
  readonly through: number;
  readonly events: number;
  readonly bytes: number;
  /** `count` and `bytes` are caps; inside the window they are a breach [C W-04]. */
  readonly cause: "window" | "count" | "bytes";
  readonly isBreach: boolean;
  /**
   * How long ago the newest of them was appended, milliseconds of log time: further back than this
   * a cursor of the stream is not honoured [C W-06].
   */
  readonly ageMs: number;
}

export type CommitOutcome =
  /**
   * Done, to the log's durability: one place for each `append`, in their order, and the place
   * before the first event for each stream begun (by `create` or `open`).
   */
  | {
      readonly kind: "committed";
      readonly appended: readonly EventPlace[];
      readonly begun: readonly EventPlace[];
      /** In shared logs alone: as it is after the commit. */
      readonly holding?: Holding;
    }
  /** Another call holds the key: the `open` was refused, nothing changed [C X-03]. */
  | { readonly kind: "claimed"; readonly claim: Claim }
  /**
   * The responses alone fill `maxBytes`, or keys the ledger, and the `open` was refused [C W-03]
   * [C P-02]; or the inbox is full. Nothing changed.
   */
  | { readonly kind: "full" }
  /** The session is unknown or over; nothing changed. */
  | { readonly kind: "absent" }
  /** The fence is not that of the owner; nothing changed [C N-02]. */
  | { readonly kind: "fenced" };

export interface LoggedEvent {
  readonly place: EventPlace;
  readonly kind: EventKind;
  /** The JSON-RPC message, as it goes on the wire. */
  readonly text: string;
}

/** Why a cursor is not honoured, with the two that would be [C R-03] [C R-04]. */
export interface Gap {
  readonly stream: number;
  readonly requested: EventPlace;
  /** Resuming here replays all that is retained and was not seen. */
  readonly oldest: EventPlace;
  readonly head: EventPlace;
  /** How many events are gone for this reader, or null when that cannot be counted. */
  readonly lostEvents: number | null;
  /** The place before the first retained event: from here everything retained is replayed. */
  readonly retained: EventPlace;
}

/** What a viewport has to know besides, as it is at the moment of the read; in shared logs alone. */
export interface Seen {
  /** The session is over: what the read does not give will never come. */
  readonly ended?: EndReason;
  /** The newest viewport that was attached to the stream. */
  readonly viewer?: string;
}

export type ReadOutcome =
  /** The events after the cursor, oldest first; none: the cursor is at the head of a live stream. */
  | ({ readonly kind: "events"; readonly events: readonly LoggedEvent[] } & Seen)
  | { readonly kind: "gap"; readonly gap: Gap }
  /** The cursor carries another session's tag. */
  | { readonly kind: "foreign" }
  /** The cursor is at the end of a finished stream. */
  | ({ readonly kind: "finished" } & Seen)
  /** No such session. A session that is over still answers until its events are purged. */
  | { readonly kind: "absent" };

export interface ReadLimit {
  readonly events: number;
  /** At least one event is returned, however large it is. */
  readonly bytes: number;
}

/** Time and chance as the log needs them; given by the caller, so that a run can be repeated. */
export interface Clock {
  /** Milliseconds; never steps back. */
  monotonicMs(): number;
  /** Milliseconds since the epoch; may step either way. */
  wallMs(): number;
}

/** How long sessions may rest, in log time: milliseconds in which a process held the log. */
export interface RestLimits {
  readonly idleTtlMs: number;
  /** For sessions whose client never came back after `initialize` [C S-03]. */
  readonly unusedTtlMs: number;
  /** How far the last `touch` of a used session may lie behind its last use. */
  readonly touchLagMs: number;
  /** At most so many sessions are named. */
  readonly sessions: number;
}

export interface LogSettings {
  readonly retention: Retention;
  /** How long the ledger keeps a key after its call has ended [C X-03], milliseconds of log time. */
  readonly idempotencyTtlMs: number;
  /**
   * A key that is new is refused (`full`) while the keys that are kept have so many bytes: their
   * responses, and {@link keyBytes} each. Without it, and in shared logs, there is no such bound.
   */
  readonly ledgerBytesMax?: number;
  readonly clock: Clock;
  /** Told of every eviction, after it is durable. */
  readonly onEvicted?: (eviction: Eviction) => void;
  /** Source of incarnations, 8 characters of `0-9a-z`; by default a random one. */
  readonly randomIncarnation?: () => string;
  /** Of shared logs: how long a node lives without renewal, milliseconds; by default 10 s. */
  readonly leaseMs?: number;
}

export interface SweepOutcome {
  /** More is waiting: call again soon. */
  readonly isBehind: boolean;
}

/**
 * Every method but `open`, `follow` and `close` throws a {@link LogError} `ERR_LOG_CLOSED` while
 * the log is not open.
 */
export interface EventLog {
  readonly durability: Durability;
  /** Where it is, for people: `sqlite:./holdfast.db`. */
  readonly location: string;
  /** Set when many nodes may hold the log at once. */
  readonly shared?: SharedLog;
  /**
   * Take the log over: a fresh incarnation begins. A shared log is joined as a new node, and a
   * fresh incarnation begins for each session when it is taken over.
   *
   * @throws {@link LogError} `ERR_LOG_LOCKED`, `ERR_LOG_CORRUPT`, `ERR_LOG_NEWER`,
   * `ERR_LOG_UNAVAILABLE`
   */
  open(settings: LogSettings): Promise<void>;
  /**
   * Change a session: all of `ops` or none, durable when it resolves; commits of one session take
   * effect in the order of their calls. Caps are enforced in the same step.
   *
   * When one is rejected, so are all of its session that were called before the caller could know:
   * repeated in their order, none overtakes another. A log that loses replies gives no more commits
   * of a session to its store at once than attempts of it are remembered there.
   *
   * @throws {@link LogError} `ERR_LOG_UNAVAILABLE`: nothing changed, or the outcome is not known;
   * repeat with the same `id`
   */
  commit(session: SessionId, commit: Commit): Promise<CommitOutcome>;
  /** What a viewport shows next. */
  read(session: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome>;
  /** A session, live or over; `undefined` for one that was never there or is forgotten. */
  session(session: SessionId): Promise<SessionState | undefined>;
  stream(session: SessionId, stream: number): Promise<StreamState | undefined>;
  /** Streams of the session with a call that is running: after a restart, nobody runs them. */
  running(session: SessionId): Promise<readonly StreamState[]>;
  /** What the ledger holds of a key; `undefined` once its time has passed. */
  claim(scope: string, key: string): Promise<Claim | undefined>;
  /**
   * Live sessions whose last `touch` lies longer back than they may rest, and whose newest event's
   * window has passed [C S-02] (not asked of those that were never used). Those that have been
   * waiting longest come first. Bounded in work as in number: there may be more, ask again.
   */
  rested(limits: RestLimits): Promise<readonly SessionId[]>;
  /**
   * A page of the live sessions in the order of their ids, for people to look at.
   *
   * @param after - the last one of the page before; `undefined` to begin
   * @param limit - at most so many; fewer only when there are no more
   */
  list(after: SessionId | undefined, limit: number): Promise<readonly SessionState[]>;
  /** How many sessions are live: of one principal, or in all. */
  liveSessions(principal?: string): Promise<number>;
  /**
   * Call `wake` after each commit that appended to this stream, finished it, evicted from it or
   * attached a viewport to it, or that ended its session: soon after the commit took effect, never
   * before `commit` returned. In a shared log whatever node made it; a lost message between nodes
   * delays the wake, and is no reason that it never comes.
   *
   * @returns ends it; may be called again
   */
  follow(session: SessionId, stream: number, wake: () => void): () => void;
  /** One bounded step of what time undoes: windows, purged sessions, tombstones of 24 h. */
  sweep(): Promise<SweepOutcome>;
  /** Finish what was committed and let the log go; again, it does nothing. */
  close(): Promise<void>;
}
