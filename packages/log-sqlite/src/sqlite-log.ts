/**
 * The event log in a SQLite file: the embedded default, for one process at a time.
 *
 * A thin shell: commits of one turn of the event loop wait here and are written in one transaction
 * (batch.ts); reads are in read.ts, what time undoes in sweep.ts, opening and closing in file.ts.
 */
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { type EventPlace, LogError } from "@holdfast/contract";
import {
  type Attempts,
  type Claim,
  type Commit,
  type CommitOutcome,
  createAttempts,
  createEvictionTally,
  createFollowers,
  type EventLog,
  type Eviction,
  type Followers,
  type LogSettings,
  type ReadLimit,
  type ReadOutcome,
  type RestLimits,
  randomIncarnation,
  type SessionId,
  type SessionState,
  type StreamState,
  type SweepOutcome,
} from "@holdfast/log";
import { type Answer, type Request, runBatch } from "./batch.ts";
import type { CacheBounds } from "./book.ts";
import { readBootId } from "./boot-id.ts";
import { readClaim } from "./claims.ts";
import { type Desk, openDesk } from "./desk.ts";
import { workingFault } from "./faults.ts";
import { closeFile, type LogFile, openFile } from "./file.ts";
import { readAfter } from "./read.ts";
import { restedSessions } from "./rest.ts";
import { all } from "./statements.ts";
import { type Sweep, sweepStep } from "./sweep.ts";
import type { SqliteDurability } from "./takeover.ts";
import { unfinishedStreams } from "./unfinished.ts";

export interface SqliteLogOptions {
  /** What an acknowledged commit survives; `process` by default, `power` syncs every batch. */
  readonly durability?: SqliteDurability;
  /** Names this start of the machine; the empty text when that is not known [C R-08]. */
  readonly bootId?: () => string;
  /** How many sessions and streams are kept in memory; 10,000 of each by default. */
  readonly cache?: CacheBounds;
}

/** Commits that one transaction carries; the rest waits for the next turn. */
const batchMax = 1_000;
/** Log time is written to the file this often while there are commits, and while there are none. */
const baseEveryMs = 1_000;
const idleBaseEveryMs = 60_000;

interface Opened {
  readonly file: LogFile;
  readonly desk: Desk;
  readonly sweep: Sweep;
  /** Log time as the file has it. */
  baseMs: number;
  /** There were commits since it was written. */
  isBusy: boolean;
}

interface Waiting extends Request {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * An event log in one file, with `-wal`, `-shm`, `.lock` and `.pid` beside it.
 *
 * @param path - of a file that is there or is to be made; relative to the working directory
 */
export function sqliteLog(path: string, options: SqliteLogOptions = {}): EventLog {
  if (path === "" || path.startsWith(":")) throw new TypeError(`"${path}" is no path of a file.`);
  return new SqliteLog(path, options);
}

class SqliteLog implements EventLog {
  readonly durability: SqliteDurability;
  readonly location: string;
  readonly #path: string;
  readonly #bootId: () => string;
  readonly #cache: CacheBounds;
  readonly #followers: Followers = createFollowers();
  readonly #attempts: Attempts = createAttempts();
  #waiting: Waiting[] = [];
  /** Set while the log is open. */
  #opened: Opened | undefined;

  constructor(path: string, options: SqliteLogOptions) {
    this.durability = options.durability ?? "process";
    this.location = `sqlite:${path}`;
    this.#path = resolve(path);
    this.#bootId = options.bootId ?? readBootId;
    this.#cache = options.cache ?? { sessions: 10_000, streams: 10_000 };
  }

  async open(settings: LogSettings): Promise<void> {
    assert(this.#opened === undefined, "open: the log is open");
    const incarnation = (settings.randomIncarnation ?? randomIncarnation)();
    const opening = { bootId: this.#bootId(), durability: this.durability, incarnation };
    const file = openFile(this.#path, opening, settings.clock.wallMs());
    const desk = openDesk(file, settings, incarnation, this.#cache, {
      followers: this.#followers,
      attempts: this.#attempts,
    });
    const { baseMs } = file.meta;
    this.#opened = { file, desk, baseMs, sweep: { passed: 0 }, isBusy: false };
  }

  commit(session: SessionId, commit: Commit): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      this.#open();
      this.#waiting.push({ session, commit, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    });
  }

  async read(id: SessionId, cursor: EventPlace, limit: ReadLimit): Promise<ReadOutcome> {
    return this.#ask((desk) => readAfter(desk, id, cursor, limit));
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    return this.#ask(({ book }) => book.session(id)?.state);
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    return this.#ask(({ book }) => {
      const entry = book.session(id);
      return entry === undefined || entry.isPurged ? undefined : book.stream(entry, stream)?.state;
    });
  }

  async running(id: SessionId): Promise<readonly StreamState[]> {
    return this.#ask(({ run, book }) => {
      const entry = book.session(id);
      return entry === undefined || entry.isPurged ? [] : unfinishedStreams(run, book, entry);
    });
  }

  async claim(scope: string, key: string): Promise<Claim | undefined> {
    return this.#ask(({ run, settings, time }) =>
      readClaim(run, scope, key, time.nowMs() - settings.idempotencyTtlMs),
    );
  }

  async rested(limits: RestLimits): Promise<readonly SessionId[]> {
    const opened = this.#open();
    const { run, settings, time } = opened.desk;
    const { windowMs } = settings.retention;
    const nowMs = time.nowMs();
    try {
      return transact(opened, () => restedSessions({ run, limits, windowMs, nowMs }));
    } catch (error) {
      throw workingFault(error, opened.file.path);
    }
  }

  async list(after: SessionId | undefined, limit: number): Promise<readonly SessionState[]> {
    return this.#ask(({ run, book }) =>
      all<{ name: SessionId }>(run.liveAfter, after ?? "", limit).flatMap(
        ({ name }) => book.session(name)?.state ?? [],
      ),
    );
  }

  async liveSessions(principal?: string): Promise<number> {
    return this.#open().desk.census.count(principal);
  }

  follow(id: SessionId, stream: number, wake: () => void): () => void {
    const leave = this.#followers.follow(id, stream, wake);
    return () => {
      leave();
      if (this.#followers.isFollowed(id, stream)) return;
      const desk = this.#opened?.desk;
      const entry = desk?.book.peek(id);
      const kept = entry?.streams.get(stream);
      if (desk === undefined || entry === undefined || kept === undefined) return;
      // A stream that is over is seldom asked for once it was shown.
      if (kept.state.isFinished) desk.book.forgetStream(entry, kept);
      else desk.recent.drop(kept);
    };
  }

  async sweep(): Promise<SweepOutcome> {
    const opened = this.#open();
    const { run, book, attempts, settings, time } = opened.desk;
    const { retention, idempotencyTtlMs } = settings;
    const { windowMs } = retention;
    const nowMs = time.nowMs();
    const tally = createEvictionTally();
    const step = { run, book, attempts, nowMs, windowMs, idempotencyTtlMs, tally };
    const passed = opened.sweep.passed;
    let isBehind: boolean;
    try {
      isBehind = transact(opened, () => {
        const isMore = sweepStep(opened.sweep, step);
        const everyMs = opened.isBusy ? baseEveryMs : idleBaseEveryMs;
        if (nowMs - opened.baseMs >= everyMs) this.#writeBase(opened, nowMs);
        return isMore;
      });
    } catch (error) {
      opened.sweep.passed = passed;
      book.clear();
      throw workingFault(error, opened.file.path);
    }
    this.#tell(tally.list());
    return { isBehind };
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    while (this.#waiting.length > 0) this.#flush();
    this.#opened = undefined;
    this.#attempts.clear();
    try {
      opened.desk.run.setClean.run(opened.desk.time.nowMs());
    } catch (error) {
      throw workingFault(error, opened.file.path);
    } finally {
      closeFile(opened.file);
    }
  }

  #flush(): void {
    const opened = this.#opened;
    if (opened === undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.slice(0, batchMax);
    this.#waiting = this.#waiting.slice(batchMax);
    if (this.#waiting.length > 0) setImmediate(() => this.#flush());
    let answers: readonly Answer[];
    try {
      answers = runBatch(opened.desk, batch);
    } catch (error) {
      rollBack(opened);
      const fault = workingFault(error, opened.file.path);
      // What came after it was called before its failure could be told: none may overtake it.
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(fault);
      return;
    }
    opened.isBusy = true;
    batch.forEach(({ resolve, reject }, i) => {
      const answer = answers[i];
      if (answer === undefined) reject(new Error("a commit was not answered"));
      else if ("error" in answer) reject(answer.error);
      else resolve(answer.outcome);
    });
    this.#spread(batch, answers);
    opened.desk.book.trim();
  }

  /** Tell of evictions, and wake who follows. */
  #spread(batch: readonly Waiting[], answers: readonly Answer[]): void {
    answers.forEach((answer, i) => {
      const session = batch[i]?.session;
      if (session === undefined || "error" in answer) return;
      this.#tell(answer.evictions);
      if (answer.isEnd) this.#followers.wakeAll(session);
      else this.#followers.wake(session, answer.news);
    });
  }

  /** Look up what is stored, or what is known of it already. */
  #ask<Answer>(question: (desk: Desk) => Answer): Answer {
    const { file, desk } = this.#open();
    try {
      const answer = question(desk);
      desk.book.trim();
      return answer;
    } catch (error) {
      throw workingFault(error, file.path);
    }
  }

  #writeBase(opened: Opened, nowMs: number): void {
    opened.desk.run.setBase.run(nowMs);
    opened.baseMs = nowMs;
    opened.isBusy = false;
  }

  #tell(evictions: readonly Eviction[]): void {
    for (const eviction of evictions) this.#opened?.desk.settings.onEvicted?.(eviction);
  }

  #open(): Opened {
    if (this.#opened === undefined) throw new LogError("ERR_LOG_CLOSED", "The log is not open.");
    return this.#opened;
  }
}

/** @throws what `work` throws; the file has not changed then */
function transact<Result>(opened: Opened, work: () => Result): Result {
  const { run } = opened.desk;
  try {
    run.begin.run();
    const result = work();
    run.commit.run();
    return result;
  } catch (error) {
    rollBack(opened);
    throw error;
  }
}

function rollBack({ file, desk }: Opened): void {
  if (file.db.isTransaction) desk.run.rollback.run();
}
