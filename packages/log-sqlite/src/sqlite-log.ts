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
  randomIncarnation,
  type SessionId,
  type SessionState,
  type StreamState,
  type SweepOutcome,
} from "@holdfast/log";
import { type Answer, type Request, runBatch } from "./batch.ts";
import type { CacheBounds } from "./book.ts";
import { readBootId } from "./boot-id.ts";
import { type Desk, openDesk } from "./desk.ts";
import { workingFault } from "./faults.ts";
import { closeFile, type LogFile, openFile } from "./file.ts";
import { readAfter } from "./read.ts";
import { type Sweep, sweepStep } from "./sweep.ts";
import type { SqliteDurability } from "./takeover.ts";

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
    const { file, desk } = this.#open();
    try {
      const outcome = readAfter(desk, id, cursor, limit);
      desk.book.trim();
      return outcome;
    } catch (error) {
      throw workingFault(error, file.path);
    }
  }

  async session(id: SessionId): Promise<SessionState | undefined> {
    const { file, desk } = this.#open();
    try {
      const entry = desk.book.session(id);
      desk.book.trim();
      return entry?.state;
    } catch (error) {
      throw workingFault(error, file.path);
    }
  }

  async stream(id: SessionId, stream: number): Promise<StreamState | undefined> {
    const { file, desk } = this.#open();
    try {
      const entry = desk.book.session(id);
      if (entry === undefined || entry.isPurged) return undefined;
      const state = desk.book.stream(entry, stream)?.state;
      desk.book.trim();
      return state;
    } catch (error) {
      throw workingFault(error, file.path);
    }
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
    const { windowMs } = settings.retention;
    const nowMs = time.nowMs();
    const tally = createEvictionTally();
    const passed = opened.sweep.passed;
    let isBehind: boolean;
    try {
      run.begin.run();
      isBehind = sweepStep(opened.sweep, { run, book, attempts, nowMs, windowMs, tally });
      const everyMs = opened.isBusy ? baseEveryMs : idleBaseEveryMs;
      if (nowMs - opened.baseMs >= everyMs) this.#writeBase(opened, nowMs);
      run.commit.run();
    } catch (error) {
      rollBack(opened);
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
      for (const { reject } of batch) reject(fault);
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

function rollBack({ file, desk }: Opened): void {
  if (file.db.isTransaction) desk.run.rollback.run();
}
