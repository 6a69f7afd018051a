/**
 * The event log in memory: for tests, for servers that may forget, and the model that every other
 * log is compared with.
 *
 * What it holds lives as long as the object, through `close` and `open`; nothing survives the
 * process. A commit takes effect when it is called; who follows is woken soon after.
 */
import assert from "node:assert/strict";
import { type EventPlace, LogError } from "@holdfast/contract";
import type {
  Claim,
  Commit,
  CommitOutcome,
  EventLog,
  Eviction,
  LogSettings,
  ReadLimit,
  ReadOutcome,
  RestLimits,
  Seen,
  SessionId,
  SessionState,
  StreamState,
  SweepOutcome,
} from "./event-log.ts";
import { createEvictionTally } from "./eviction-tally.ts";
import { randomIncarnation } from "./incarnations.ts";
import { judge } from "./judge.ts";
import { purgeAfterMs, restEndMs, tombstoneMs } from "./log-time.ts";
import {
  carryOut,
  emptySession,
  enforceCaps,
  eventsAfter,
  expire,
  type MemorySession,
  type MemoryStream,
  newestAtMs,
  purge,
} from "./memory-session.ts";
import { holdingOf, MemoryShared, putEntries, wakeOwner } from "./memory-shared.ts";
import { type MemoryStore, memoryStore } from "./memory-store.ts";
import { type Before, planCommit } from "./plan.ts";
import { leaseMsDefault } from "./shared-log.ts";

/** One step of a sweep looks at no more sessions, and takes no more events or keys, than these. */
const sweepSessionsMax = 1_000;
const sweepEventsMax = 500;
const sweepKeysMax = 500;

interface Opened {
  readonly settings: LogSettings;
  /** Of this opening; a shared log has another for each session. */
  readonly incarnation: string;
}

/**
 * A log that forgets everything with the process [C W-05] (`durability: "memory"`).
 *
 * @param store - shared with the logs of other nodes; without one, the log is alone on its own
 */
export function memoryLog(store?: MemoryStore): EventLog {
  return new MemoryLog(store ?? memoryStore(), store !== undefined);
}

class MemoryLog implements EventLog {
  readonly durability = "memory";
  readonly location = "memory:";
  readonly shared?: MemoryShared;
  readonly #store: MemoryStore;
  /** Set while the log is open. */
  #opened: Opened | undefined;

  constructor(store: MemoryStore, isShared: boolean) {
    this.#store = store;
    if (isShared) this.shared = new MemoryShared(store, { fresh: () => this.#fresh() });
  }

  async open(settings: LogSettings): Promise<void> {
    assert(this.#opened === undefined, "open: the log is open");
    this.#store.onOpen(settings.clock);
    this.#opened = { settings, incarnation: (settings.randomIncarnation ?? randomIncarnation)() };
    this.shared?.join(settings.leaseMs ?? leaseMsDefault);
  }

  async commit(id: SessionId, commit: Commit): Promise<CommitOutcome> {
    const { settings } = this.#open();
    const { attempts, census, followers, ledger, sessions, time } = this.#store;
    const known = sessions.get(id);
    const repeated = attempts.recall(id, commit.id);
    if (repeated !== undefined) return repeated;
    const before = this.#before(id, known, commit.fence);
    const plan = planCommit(before, commit.ops);
    if (plan.kind !== "planned") {
      // Nothing is remembered of a session that is not there.
      if (plan.kind !== "absent") attempts.remember(id, commit.id, plan);
      return plan;
    }
    const node = this.shared?.node;
    const session = known ?? emptySession(plan.session, node, before.incarnation);
    sessions.set(id, session);
    const tally = createEvictionTally();
    const atMs = time.stampMs();
    carryOut(session, plan, atMs);
    if (node !== undefined) putEntries(session, plan.sent, node);
    for (const entry of plan.claims) ledger.put(entry, atMs);
    const isOver = plan.session.ended !== undefined;
    census.add(plan.session.principal, Number(known === undefined) - Number(isOver));
    if (plan.events.length > 0) enforceCaps(session, settings.retention, time.nowMs(), tally);
    const { appended, begun } = plan;
    const holding = node === undefined ? {} : { holding: holdingOf(session) };
    const outcome: CommitOutcome = { kind: "committed", appended, begun, ...holding };
    attempts.remember(id, commit.id, outcome);
    const evictions = tally.list();
    const changed = new Set([...plan.news, ...evictions.map((one) => one.stream)]);
    queueMicrotask(() => {
      this.#tell(evictions);
      if (isOver) followers.wakeAll(id);
      else followers.wake(id, changed);
      if (plan.sent.length > 0) wakeOwner(this.#store, session);
    });
    return outcome;
  }

  /** What a plan has to know. */
  #before(id: SessionId, known: MemorySession | undefined, shownFence: number): Before {
    const { settings, incarnation } = this.#open();
    return {
      id,
      session: known?.state,
      stream: (stream) => known?.streams.get(stream)?.state,
      running: () => runningOf(known),
      claim: (scope, key) => this.#claim(scope, key),
      isLedgerFull: () =>
        this.#store.ledger.bytes >= (settings.ledgerBytesMax ?? Number.POSITIVE_INFINITY),
      responseBytes: () => known?.responseBytes ?? 0,
      incarnation: (this.shared && known?.incarnation) ?? incarnation,
      wallMs: settings.clock.wallMs(),
      bytesMax: settings.retention.maxBytes,
      ...(this.shared && {
        shared: {
          fence: known?.fence ?? 0,
          shownFence,
          entries: known?.inbox.length ?? 0,
          bytes: known?.inboxBytes ?? 0,
        },
      }),
    };
  }

  async read(id: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome> {
    const { incarnation } = this.#open();
    const session = this.#store.sessions.get(id);
    if (session === undefined || session.isPurged) return { kind: "absent" };
    const stream = session.streams.get(cursor.stream);
    const { tag } = session.state;
    const ofSession = this.shared === undefined ? incarnation : session.incarnation;
    const judgement = judge(cursor, tag, stream?.state, ofSession);
    const seen = this.shared === undefined ? {} : seenOf(session, stream);
    if (judgement.kind === "finished") return { ...judgement, ...seen };
    if (judgement.kind !== "honoured") return judgement;
    assert(stream !== undefined, "a cursor of an unknown stream was honoured");
    return { kind: "events", events: eventsAfter(stream, tag, cursor.position, limit), ...seen };
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    this.#open();
    const session = this.#store.sessions.get(id);
    if (session === undefined || this.shared === undefined || session.isPurged) {
      return session?.state;
    }
    return { ...session.state, holding: holdingOf(session) };
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    this.#open();
    return this.#store.sessions.get(id)?.streams.get(stream)?.state;
  }

  async running(id: SessionId): Promise<readonly StreamState[]> {
    this.#open();
    return runningOf(this.#store.sessions.get(id));
  }

  async claim(scope: string, key: string): Promise<Claim | undefined> {
    return this.#claim(scope, key);
  }

  async rested(limits: RestLimits): Promise<readonly SessionId[]> {
    const { settings } = this.#open();
    const nowMs = this.#store.time.nowMs();
    const due: { readonly id: SessionId; readonly endMs: number }[] = [];
    for (const [id, session] of this.#store.sessions) {
      if (session.endedAtMs !== undefined) continue;
      const newest = () => newestAtMs(session);
      const endMs = restEndMs(session, newest, limits, settings.retention.windowMs);
      if (endMs <= nowMs) due.push({ id, endMs });
    }
    due.sort((a, b) => a.endMs - b.endMs);
    return due.slice(0, limits.sessions).map(({ id }) => id);
  }

  async list(after: SessionId | undefined, limit: number): Promise<readonly SessionState[]> {
    this.#open();
    const live: SessionState[] = [];
    for (const { state } of this.#store.sessions.values()) {
      if (state.ended === undefined && (after === undefined || state.session > after)) {
        live.push(state);
      }
    }
    return live.sort((a, b) => (a.session < b.session ? -1 : 1)).slice(0, limit);
  }

  async liveSessions(principal?: string): Promise<number> {
    this.#open();
    return this.#store.census.count(principal);
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    return this.#store.followers.follow(id, stream, wake);
  }

  async sweep(): Promise<SweepOutcome> {
    const { settings } = this.#open();
    const nowMs = this.#store.time.nowMs();
    const tally = createEvictionTally();
    const round = this.#store.round ?? { held: undefined, others: this.#store.sessions.values() };
    this.#store.round = round;
    let eventsLeft = sweepEventsMax;
    for (let sessionsLeft = sweepSessionsMax; sessionsLeft > 0 && eventsLeft > 0; sessionsLeft--) {
      const session = round.held ?? round.others.next().value;
      round.held = session;
      if (session === undefined) {
        this.#store.round = undefined;
        break;
      }
      eventsLeft -= expire(session, settings.retention.windowMs, nowMs, eventsLeft, tally);
      if (eventsLeft === 0) break;
      this.#forget(session, nowMs);
      round.held = undefined;
    }
    this.#tell(tally.list());
    const keys = this.#store.ledger.expire(nowMs, settings.idempotencyTtlMs, sweepKeysMax);
    return { isBehind: this.#store.round !== undefined || keys === sweepKeysMax };
  }

  async close(): Promise<void> {
    if (this.#opened === undefined) return;
    await this.shared?.leave();
    // Who may repeat an attempt is another process, where there are several.
    if (this.shared === undefined) this.#store.attempts.clear();
    this.#opened = undefined;
    this.#store.onClose();
  }

  #claim(scope: string, key: string): Claim | undefined {
    const { settings } = this.#open();
    const { ledger, time } = this.#store;
    return ledger.claim(scope, key, time.nowMs(), settings.idempotencyTtlMs);
  }

  /** [C S-04] what is left of a session that is over, and for how long. */
  #forget(session: MemorySession, nowMs: number): void {
    if (session.endedAtMs === undefined) return;
    const { session: id } = session.state;
    if (session.endedAtMs + tombstoneMs <= nowMs) {
      this.#store.sessions.delete(id);
      this.#store.attempts.forget(id);
    } else if (!session.isPurged && session.endedAtMs + purgeAfterMs <= nowMs) {
      purge(session);
      this.#store.attempts.forget(id);
    }
  }

  #tell(evictions: readonly Eviction[]): void {
    for (const eviction of evictions) this.#opened?.settings.onEvicted?.(eviction);
  }

  #fresh(): string {
    const { settings } = this.#open();
    return (settings.randomIncarnation ?? randomIncarnation)();
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    return this.#opened;
  }
}

/** [C R-02] [C D-01] */
function seenOf({ state }: MemorySession, stream: MemoryStream | undefined): Seen {
  const viewer = stream?.state.viewer;
  return {
    ...(state.ended === undefined ? {} : { ended: state.ended }),
    ...(viewer === undefined ? {} : { viewer }),
  };
}

function runningOf(session: MemorySession | undefined): readonly StreamState[] {
  const states: StreamState[] = [];
  for (const number of session?.running ?? []) {
    const stream = session?.streams.get(number);
    if (stream !== undefined) states.push(stream.state);
  }
  return states;
}
