/**
 * The connections of the log: opened when they are needed, greeted before they are used, tried again
 * with growing pauses while the store is away, and never waited for longer than asked.
 *
 *     up ──an attempt is lost──▶ down, pause doubles ──pause over, an attempt succeeds──▶ up
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { LogError } from "@holdfast/contract";
import {
  type ClientBase,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResultRow,
  types,
} from "pg";
import { faultKind, unavailable } from "./faults.ts";
import type { Location } from "./location.ts";
import type { StatementName, Statements } from "./sql.ts";

/** Between attempts to reach a store that is away: from the first to the longest, doubling. */
const pauseMs = { first: 50, longest: 2_000 } as const;

/** Before the same is tried again after a conflict with another transaction. */
const conflictPauseMs = 20;

/** A lock is not waited for longer than this; with what is asked for, the same is tried again. */
const lockTimeoutMs = 1_000;

/** How long anything may take at the end. */
const hurryMs = 500;

/** A statement that is answered with too little time left would only be cut off. */
const attemptMsMin = 50;

const typeOids = { int8: 20 };

export interface Question {
  readonly name: StatementName;
  readonly values: readonly unknown[];
}

export interface ConnectionSettings {
  readonly location: Location;
  readonly statements: Statements;
  readonly connectionsMax: number;
  /** How long one question may take, attempts and pauses together, milliseconds. */
  readonly timeoutMs: number;
  /** Called with each new connection before it is used; what it throws closes the connection. */
  readonly greet: (client: ClientBase) => Promise<void>;
  /** Called when the store was lost, and when it answers again. */
  readonly onReach: (isReached: boolean) => void;
}

export class Connections {
  readonly #settings: ConnectionSettings;
  #pool: Pool;
  #timeoutMs: number;
  #isReached = true;
  #isClosed = false;
  #pauseMs = 0;
  /** Until then nobody tries. */
  #restMs = 0;
  /** Why the store was lost. */
  #lost: unknown;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#timeoutMs = settings.timeoutMs;
    this.#pool = this.#makePool();
  }

  /** One question; see {@link askAll}. */
  async ask<Row>(name: StatementName, ...values: readonly unknown[]): Promise<readonly Row[]> {
    const [rows = []] = await this.askAll([{ name, values }]);
    return rows as readonly Row[];
  }

  /**
   * Questions that go out together on one connection; each is a transaction of its own. They may be
   * asked more than once: an answer can be lost.
   *
   * @returns the rows of each
   * @throws LogError `ERR_LOG_UNAVAILABLE`
   */
  async askAll(questions: readonly Question[]): Promise<readonly (readonly QueryResultRow[])[]> {
    const startMs = performance.now();
    for (;;) {
      // Looked at each time: it may have to be done soon, by now.
      const endMs = startMs + this.#timeoutMs;
      try {
        return await this.#attempt(questions, endMs);
      } catch (error) {
        if (error instanceof LogError) throw error;
        const kind = faultKind(error);
        const isOver = performance.now() + attemptMsMin >= endMs;
        if (kind === "refused" || isOver) throw unavailable(this.#settings.location.shown, error);
        if (kind === "again") await pause(conflictPauseMs * (1 + Math.random()));
      }
    }
  }

  /** What is asked from now on does not wait for a store that is away: the process is to end. */
  hurry(): void {
    this.#timeoutMs = Math.min(this.#timeoutMs, hurryMs);
  }

  /** What is asked from now on is refused; what is under way comes to its end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }

  async #attempt(
    questions: readonly Question[],
    endMs: number,
  ): Promise<readonly (readonly QueryResultRow[])[]> {
    await this.#rest(endMs);
    if (this.#isClosed) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    const pool = this.#pool;
    let held: PoolClient | undefined;
    try {
      const client = await pool.connect();
      held = client;
      const { statements } = this.#settings;
      const query_timeout = Math.max(attemptMsMin, endMs - performance.now());
      const asking = questions.map(({ name, values }) =>
        query(client, { name, text: statements[name], values: [...values], query_timeout }),
      );
      const answers = await Promise.all(asking);
      client.release();
      this.#reached(true);
      return answers.map(({ rows }) => rows);
    } catch (error) {
      const isLost = faultKind(error) === "lost";
      held?.release(isLost);
      if (isLost) this.#leave(pool, error);
      throw error;
    }
  }

  /** Wait until the store may be tried again. */
  async #rest(endMs: number): Promise<void> {
    const waitMs = this.#restMs - performance.now();
    if (waitMs <= 0) return;
    await pause(Math.max(0, Math.min(waitMs, endMs - performance.now())));
    if (this.#restMs > performance.now()) throw this.#lost;
  }

  /** Where one connection is lost, the others are not to be trusted either. */
  #leave(pool: Pool, error: unknown): void {
    if (pool !== this.#pool || this.#isClosed) return;
    this.#lost = error;
    this.#pool = this.#makePool();
    // Those that are in use come back to it, and are ended.
    void pool.end().catch(() => {});
    const { first, longest } = pauseMs;
    this.#pauseMs = Math.min(longest, Math.max(first, this.#pauseMs * 2));
    // The first time at once: idle connections die in a restart that is over by now.
    const waitMs = this.#isReached ? 0 : this.#pauseMs * (0.5 + Math.random() / 2);
    this.#restMs = performance.now() + waitMs;
    this.#reached(false);
  }

  #reached(isReached: boolean): void {
    if (isReached) this.#pauseMs = 0;
    if (this.#isReached === isReached) return;
    this.#isReached = isReached;
    this.#settings.onReach(isReached);
  }

  #makePool(): Pool {
    const { location, timeoutMs, connectionsMax, greet } = this.#settings;
    const config: PoolConfig = {
      ...clientConfig(location, timeoutMs),
      max: connectionsMax,
      // Several questions of one trip; a connection is used by one asker at a time.
      pipeline: true,
      onConnect: (client) => {
        // One that is in use is heard by the pool no more: the question under way fails with it.
        client.on("error", () => {});
        return greet(client);
      },
    };
    const pool = new Pool(config);
    // An idle connection was closed: the next one to ask opens another.
    pool.on("error", () => {});
    return pool;
  }
}

/** How a connection is made; also that of the wake-ups. */
export function clientConfig(location: Location, timeoutMs: number) {
  return {
    connectionString: location.url,
    application_name: "holdfast",
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: Math.min(lockTimeoutMs, timeoutMs),
    idle_in_transaction_session_timeout: timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  };
}

// The types of the driver do not know of its timeout for one query.
function query(client: ClientBase, config: QueryConfig & { readonly query_timeout: number }) {
  return client.query<QueryResultRow>(config);
}

// Every bigint of ours is a whole number below 2^53.
function getTypeParser(oid: number, format?: "text" | "binary") {
  if (oid === typeOids.int8) return Number;
  return types.getTypeParser(oid, format);
}
