/**
 * The event log in memory: for tests, for servers that may forget, and the model that every other
 * log is compared with.
 *
 * What it holds lives as long as the object, through `close` and `open`; nothing survives the
 * process. A commit takes effect when it is called; who follows is woken soon after.
 */
import assert from "node:assert/strict";
import { type EventPlace, LogError } from "@holdfast/contract";
import { createAttempts } from "./attempts.ts";
import { createCensus } from "./census.ts";
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
  SessionId,
  SessionState,
  StreamState,
  SweepOutcome,
} from "./event-log.ts";
import { createEvictionTally } from "./eviction-tally.ts";
import { createFollowers } from "./followers.ts";
import { randomIncarnation } from "./incarnations.ts";
import { judge } from "./judge.ts";
import { type LogTime, purgeAfterMs, restEndMs, startLogTime, tombstoneMs } from "./log-time.ts";
import { createMemoryLedger } from "./memory-ledger.ts";
import {
  carryOut,
  emptySession,
  enforceCaps,
  eventsAfter,
  expire,
  type MemorySession,
  newestAtMs,
  purge,
} from "./memory-session.ts";
import { planCommit } from "./plan.ts";

/** One step of a sweep looks at no more sessions, and takes no more events or keys, than these. */
const sweepSessionsMax = 1_000;
const sweepEventsMax = 500;
const sweepKeysMax = 500;

interface Opened {
  readonly settings: LogSettings;
  readonly incarnation: string;
  readonly time: LogTime;
}

/** A log that forgets everything with the process [C W-05] (`durability: "memory"`). */
export function memoryLog(): EventLog {
  return new MemoryLog();
}

class MemoryLog implements EventLog {
  readonly durability = "memory";
  readonly location = "memory:";
  readonly #sessions = new Map<SessionId, MemorySession>();
  readonly #ledger = createMemoryLedger();
  readonly #census = createCensus();
  readonly #attempts = createAttempts();
  readonly #followers = createFollowers();
  /** Set while the log is open. */
  #opened: Opened | undefined;
  /** Log time that had passed at the last `close`. */
  #baseMs = 0;
  /** Where the sweep goes on: with a session that it left half done, then with the others. */
  #round: { held: MemorySession | undefined; readonly others: Iterator<MemorySession> } | undefined;

  async open(settings: LogSettings): Promise<void> {
    assert(this.#opened === undefined, "open: the log is open");
    const incarnation = (settings.randomIncarnation ?? randomIncarnation)();
    this.#opened = { settings, incarnation, time: startLogTime(settings.clock, this.#baseMs) };
  }

  async commit(id: SessionId, commit: Commit): Promise<CommitOutcome> {
    const { settings, incarnation, time } = this.#open();
    const known = this.#sessions.get(id);
    const repeated = this.#attempts.recall(id, commit.id);
    if (repeated !== undefined) return repeated;
    const plan = planCommit(
      {
        id,
        session: known?.state,
        stream: (stream) => known?.streams.get(stream)?.state,
        running: () => runningOf(known),
        claim: (scope, key) => this.#claim(scope, key),
        responseBytes: () => known?.responseBytes ?? 0,
        incarnation,
        wallMs: settings.clock.wallMs(),
        bytesMax: settings.retention.maxBytes,
      },
      commit.ops,
    );
    if (plan.kind !== "planned") {
      // Nothing is remembered of a session that is not there.
      if (plan.kind !== "absent") this.#attempts.remember(id, commit.id, plan);
      return plan;
    }
    const session = known ?? emptySession(plan.session);
    this.#sessions.set(id, session);
    const tally = createEvictionTally();
    const atMs = time.stampMs();
    carryOut(session, plan, atMs);
    for (const entry of plan.claims) this.#ledger.put(entry, atMs);
    const isOver = plan.session.ended !== undefined;
    this.#census.add(plan.session.principal, Number(known === undefined) - Number(isOver));
    if (plan.events.length > 0) enforceCaps(session, settings.retention, time.nowMs(), tally);
    const { appended, begun } = plan;
    const outcome: CommitOutcome = { kind: "committed", appended, begun };
    this.#attempts.remember(id, commit.id, outcome);
    const evictions = tally.list();
    const changed = new Set([...plan.news, ...evictions.map((one) => one.stream)]);
    queueMicrotask(() => {
      this.#tell(evictions);
      if (isOver) this.#followers.wakeAll(id);
      else this.#followers.wake(id, changed);
    });
    return outcome;
  }

  async read(id: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome> {
    const { incarnation } = this.#open();
    const session = this.#sessions.get(id);
    if (session === undefined || session.isPurged) return { kind: "absent" };
    const stream = session.streams.get(cursor.stream);
    const { tag } = session.state;
    const judgement = judge(cursor, tag, stream?.state, incarnation);
    if (judgement.kind !== "honoured") return judgement;
    assert(stream !== undefined, "a cursor of an unknown stream was honoured");
    return { kind: "events", events: eventsAfter(stream, tag, cursor.position, limit) };
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    this.#open();
    return this.#sessions.get(id)?.state;
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    this.#open();
    return this.#sessions.get(id)?.streams.get(stream)?.state;
  }

  async running(id: SessionId): Promise<readonly StreamState[]> {
    this.#open();
    return runningOf(this.#sessions.get(id));
  }

  async claim(scope: string, key: string): Promise<Claim | undefined> {
    return this.#claim(scope, key);
  }

  async rested(limits: RestLimits): Promise<readonly SessionId[]> {
    const { settings, time } = this.#open();
    const nowMs = time.nowMs();
    const due: { readonly id: SessionId; readonly endMs: number }[] = [];
    for (const [id, session] of this.#sessions) {
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
    for (const { state } of this.#sessions.values()) {
      if (state.ended === undefined && (after === undefined || state.session > after)) {
        live.push(state);
      }
    }
    return live.sort((a, b) => (a.session < b.session ? -1 : 1)).slice(0, limit);
  }

  async liveSessions(principal?: string): Promise<number> {
    this.#open();
    return this.#census.count(principal);
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    return this.#followers.follow(id, stream, wake);
  }

  async sweep(): Promise<SweepOutcome> {
    const { settings, time } = this.#open();
    const nowMs = time.nowMs();
    const tally = createEvictionTally();
    const round = this.#round ?? { held: undefined, others: this.#sessions.values() };
    this.#round = round;
    let eventsLeft = sweepEventsMax;
    for (let sessionsLeft = sweepSessionsMax; sessionsLeft > 0 && eventsLeft > 0; sessionsLeft--) {
      const session = round.held ?? round.others.next().value;
      round.held = session;
      if (session === undefined) {
        this.#round = undefined;
        break;
      }
      eventsLeft -= expire(session, settings.retention.windowMs, nowMs, eventsLeft, tally);
      if (eventsLeft === 0) break;
      this.#forget(session, nowMs);
      round.held = undefined;
    }
    this.#tell(tally.list());
    const keys = this.#ledger.expire(nowMs, settings.idempotencyTtlMs, sweepKeysMax);
    return { isBehind: this.#round !== undefined || keys === sweepKeysMax };
  }

  async close(): Promise<void> {
    if (this.#opened === undefined) return;
    this.#baseMs = this.#opened.time.nowMs();
    this.#attempts.clear();
    this.#round = undefined;
    this.#opened = undefined;
  }

  #claim(scope: string, key: string): Claim | undefined {
    const { settings, time } = this.#open();
    return this.#ledger.claim(scope, key, time.nowMs(), settings.idempotencyTtlMs);
  }

  /** [C S-04] what is left of a session that is over, and for how long. */
  #forget(session: MemorySession, nowMs: number): void {
    if (session.endedAtMs === undefined) return;
    const { session: id } = session.state;
    if (session.endedAtMs + tombstoneMs <= nowMs) {
      this.#sessions.delete(id);
      this.#attempts.forget(id);
    } else if (!session.isPurged && session.endedAtMs + purgeAfterMs <= nowMs) {
      purge(session);
      this.#attempts.forget(id);
    }
  }

  #tell(evictions: readonly Eviction[]): void {
    for (const eviction of evictions) this.#opened?.settings.onEvicted?.(eviction);
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    return this.#opened;
  }
}

function runningOf(session: MemorySession | undefined): readonly StreamState[] {
  const states: StreamState[] = [];
  for (const number of session?.running ?? []) {
    const stream = session?.streams.get(number);
    if (stream !== undefined) states.push(stream.state);
  }
  return states;
}
