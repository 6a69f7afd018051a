/**
 * The event log of many nodes, in a PostgreSQL database.
 *
 * A thin shell: commits wait in commit-queue.ts and are carried out by batch.ts, reads are in read.ts,
 * what time undoes in sweep.sql, ownership in shared.ts, who is woken in wakes.ts, and what begins and
 * ends with `open` and `close` in opening.ts.
 */
import assert from "node:assert/strict";
import { type EventPlace, LogError } from "@holdfast/contract";
import type {
  Claim,
  Commit,
  CommitOutcome,
  Durability,
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
} from "@holdfast/log";
import { CommitQueue } from "./commit-queue.ts";
import type { Desk } from "./desk.ts";
import { type Location, readLocation } from "./location.ts";
import { type OpenStore, openStore, type StoreOptions } from "./opening.ts";
import { readAfter } from "./read.ts";
import { restedSessions } from "./rest.ts";
import {
  type ClaimRow,
  claimOf,
  holdingOf,
  indexed,
  type SessionRow,
  type StreamRow,
  sessionOf,
  streamOf,
} from "./rows.ts";
import { PostgresShared } from "./shared.ts";
import { sweepStep } from "./sweep.ts";
import { Wakes } from "./wakes.ts";

export interface PostgresLogOptions {
  /** Connections that this node holds at most, one to listen besides; 8 by default. */
  readonly connections?: number;
  /** How long anything may take before it is `ERR_LOG_UNAVAILABLE`; 5,000 ms by default. */
  readonly timeoutMs?: number;
  /** How often the store is asked for what no message has told; 1,000 ms by default. */
  readonly pollMs?: number;
  /** Told, at the opening, of settings of the server that can lose events: a sentence each. */
  readonly onWarning?: (sentence: string) => void;
}

interface Opened {
  readonly store: OpenStore;
  readonly desk: Desk;
  readonly queue: CommitQueue;
}

/**
 * An event log in one schema of a database, made at the first opening; any number of nodes may hold
 * it at once.
 *
 * @param url - `postgres://user:password@host:5432/database`; `?schema=` names another schema than
 * `holdfast`, the rest of the query is the driver's (`sslmode` …)
 * @throws TypeError for what is no such URL
 */
export function postgresLog(url: string, options: PostgresLogOptions = {}): EventLog {
  return new PostgresLog(readLocation(url), {
    connections: options.connections ?? 8,
    timeoutMs: options.timeoutMs ?? 5_000,
    pollMs: options.pollMs ?? 1_000,
    onWarning: options.onWarning ?? (() => {}),
  });
}

class PostgresLog implements EventLog {
  readonly location: string;
  readonly shared: PostgresShared;
  readonly #location: Location;
  readonly #options: StoreOptions;
  readonly #wakes = new Wakes();
  /** Set while the log is open. */
  #opened: Opened | undefined;
  /** As the server was when it was last opened. */
  #durability: Durability = "power";

  constructor(location: Location, options: StoreOptions) {
    this.location = location.shown;
    this.#location = location;
    this.#options = options;
    this.shared = new PostgresShared(() => this.#open().desk, this.#wakes);
  }

  /** `process` where the server was told not to wait for the disk: its machine may lose events. */
  get durability(): Durability {
    return this.#durability;
  }

  async open(settings: LogSettings): Promise<void> {
    assert(this.#opened === undefined, "open: the log is open");
    const { shared } = this;
    const store = await openStore(this.#location, this.#options, settings, shared, this.#wakes);
    const { desk } = store;
    this.#durability = store.isLossy ? "process" : "power";
    const queue = new CommitQueue(desk, (session, done) => {
      this.#tell(done.evictions);
      this.#wakes.onCommit(session, done);
    });
    this.#opened = { store, desk, queue };
  }

  async commit(session: SessionId, commit: Commit): Promise<CommitOutcome> {
    return this.#open().queue.commit(session, commit);
  }

  async read(id: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome> {
    const { outcome, stream, isOver } = await readAfter(this.#open().desk, id, cursor, limit);
    this.#wakes.onSeen(id, cursor.stream, stream, isOver);
    return outcome;
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    const [row] = await this.#open().desk.connections.ask<SessionRow>("sessions", [id]);
    if (row === undefined || row.purge > 0) return row && sessionOf(row);
    return { ...sessionOf(row), holding: holdingOf(row) };
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    const { connections, term } = this.#open().desk;
    const [row] = await connections.ask<StreamRow>("streams", [id], [stream]);
    // Afterwards: a new connection may have met another store.
    return row && streamOf(row, term().loss);
  }

  async running(id: SessionId): Promise<readonly StreamState[]> {
    const { connections, term } = this.#open().desk;
    const rows = await connections.ask<StreamRow>("running", [id]);
    return rows.map((row) => streamOf(row, term().loss));
  }

  async claim(scope: string, key: string): Promise<Claim | undefined> {
    const { connections, settings, time } = this.#open().desk;
    const expiredMs = time.nowMs() - settings.idempotencyTtlMs;
    const pair = [[indexed(scope)], [indexed(key)]];
    const [row] = await connections.ask<ClaimRow>("claims", ...pair, expiredMs);
    return row && claimOf(row);
  }

  async rested(limits: RestLimits): Promise<readonly SessionId[]> {
    return restedSessions(this.#open().desk, limits);
  }

  async list(after: SessionId | undefined, limit: number): Promise<readonly SessionState[]> {
    const { connections } = this.#open().desk;
    const rows = await connections.ask<SessionRow>("list", after ?? "", limit);
    return rows.map(sessionOf);
  }

  async liveSessions(principal?: string): Promise<number> {
    const { connections } = this.#open().desk;
    const of = principal === undefined ? null : indexed(principal);
    const [row] = await connections.ask<{ live: number }>("census", of);
    return row?.live ?? 0;
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    return this.#wakes.follow(id, stream, wake);
  }

  async sweep(): Promise<SweepOutcome> {
    const { evictions, isBehind } = await sweepStep(this.#open().desk);
    this.#tell(evictions);
    for (const { session, stream } of evictions) {
      const news = new Set([stream]);
      this.#wakes.onCommit(session, { news, isEnd: false, states: new Map(), toTell: undefined });
    }
    return { isBehind };
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    await opened.queue.drained();
    await opened.store.close();
  }

  #tell(evictions: readonly Eviction[]): void {
    if (evictions.length === 0) return;
    for (const eviction of evictions) this.#opened?.desk.settings.onEvicted?.(eviction);
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    return this.#opened;
  }
}
