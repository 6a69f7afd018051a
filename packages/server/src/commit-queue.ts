/**
 * The commits of one session, in order, whatever the store does meanwhile.
 *
 * Commits are handed to the log as they come; the log groups them. When one fails, nothing more is
 * handed over until those under way have settled, and then the failed ones go again, in their order
 * and under the ids that they had: a commit whose reply was lost is not made twice.
 *
 *     flowing ──a commit fails──▶ held ──all settled, pause──▶ probing ──it succeeds──▶ flowing
 *                                   ▲────────it fails, longer pause──────┘
 */
import { AssertionError } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Commit, CommitOutcome, EventLog, Op, SessionId } from "@holdfast/log";
import { bounds } from "./options.ts";

interface Joined {
  readonly ops: readonly Op[];
  readonly chars: number;
  resolve(outcome: CommitOutcome): void;
}

interface Entry {
  readonly commit: Commit;
  readonly chars: number;
  resolve(outcome: CommitOutcome): void;
  /** Set: it is tried once. */
  reject?(error: unknown): void;
  /** Set: it is no mistake when it makes no sense any more. */
  abandon?(): void;
}

/** What a queue tells of its store. */
export interface StoreNews {
  /** The first failure after things went well. */
  onFailure(error: unknown): void;
  /** Commits go through again. */
  onHealed(): void;
  /** Commits have failed for `patienceMs`; told again after each further such time. */
  onStuck(): void;
  readonly patienceMs: number;
  /** Another node owns the session [C N-02]; told with each commit that was refused for it. */
  onFenced(): void;
}

export type Committed = Extract<CommitOutcome, { readonly kind: "committed" }>;

/** A commit that was tried once and failed; whatever it did is taken back. */
export class CommitFailed extends Error {
  /**
   * Resolves when the log has none of it, with what it had been; it may take as long as the store is
   * away.
   */
  readonly undone: Promise<Committed | undefined>;

  constructor(cause: unknown, undone: Promise<Committed | undefined>) {
    super("the store did not take a commit", { cause });
    this.undone = undone;
  }
}

export class CommitQueue {
  readonly #log: Pick<EventLog, "commit">;
  readonly #session: SessionId;
  readonly #name: string;
  readonly #news: StoreNews;
  readonly #fence: number;
  /** Handed to the log, not yet settled. */
  #underWay = 0;
  /** Failed ones first, then those that came after the failure. Empty while flowing. */
  #waiting: Entry[] = [];
  #failed: Entry[] = [];
  #isHeld = false;
  #retryMs: number = bounds.commitRetryMs;
  #timer: NodeJS.Timeout | undefined;
  #stuckTimer: NodeJS.Timeout | undefined;
  /** Commits that have an id. */
  #named = 0;
  #queuedChars = 0;
  #onRoom: (() => void)[] = [];
  #isClosed = false;
  /** Set while commits are joined to one. */
  #joined: Joined[] | undefined;

  /** @param fence - of the owner; 0 for what any node may commit, and where there is one alone */
  constructor(
    log: Pick<EventLog, "commit">,
    session: SessionId,
    name: string,
    news: StoreNews,
    fence = 0,
  ) {
    this.#log = log;
    this.#session = session;
    // A session that was put to rest has another queue when it is back: its commits are new ones.
    this.#name = `${name}-${randomBytes(6).toString("hex")}`;
    this.#news = news;
    this.#fence = fence;
  }

  /** Commit what must not be lost: tried again until it is done. */
  add(ops: readonly Op[], chars = 0): Promise<CommitOutcome> {
    const joined = this.#joined;
    if (joined !== undefined) {
      return new Promise((resolve) => void joined.push({ ops, chars, resolve }));
    }
    return new Promise((resolve) => {
      this.#queuedChars += chars;
      this.#enter({ commit: this.#commitOf(ops), chars, resolve });
    });
  }

  /** What `run` adds is one commit: all of it or nothing. */
  together<T>(run: () => T): T {
    const joined: Joined[] = [];
    this.#joined = joined;
    try {
      return run();
    } finally {
      this.#joined = undefined;
      const ops = joined.flatMap((one) => one.ops);
      const chars = joined.reduce((sum, one) => sum + one.chars, 0);
      if (ops.length > 0) void this.add(ops, chars).then((outcome) => tellEach(joined, outcome));
    }
  }

  /**
   * Commit what can be refused: tried once.
   *
   * @throws what the log throws; the change may have been made
   */
  async tryOnce(ops: readonly Op[]): Promise<CommitOutcome> {
    if (this.#isHeld) throw awayError();
    this.#underWay++;
    try {
      // Without an id: it is never repeated.
      const fence = ops[0]?.op === "create" ? 0 : this.#fence;
      const outcome = await this.#log.commit(this.#session, { fence, ops });
      if (outcome.kind === "fenced") this.#news.onFenced();
      return outcome;
    } finally {
      this.#settled();
    }
  }

  /**
   * Commit what can be refused, and must then not be there: tried once. When its reply is lost, it
   * is repeated under its id until it is known whether it took effect, and then undone.
   *
   * @param undo - what takes it back, where it took effect
   * @throws {@link CommitFailed} when it reached the log, or may have
   */
  tryOrUndo(
    ops: readonly Op[],
    undo: (outcome: Committed) => readonly Op[],
  ): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#isHeld) throw awayError();
      const commit = this.#commitOf(ops);
      this.#enter({
        ...{ commit, chars: 0, resolve },
        reject: (error) => reject(new CommitFailed(error, this.#undo(commit, undo))),
      });
    });
  }

  /** A promise while more text waits than should; it resolves when there is room. */
  room(): Promise<void> | undefined {
    if (this.#queuedChars <= bounds.commitQueueCharsMax) return undefined;
    return new Promise((resolve) => this.#onRoom.push(resolve));
  }

  /** Try no more; what waits stays undone. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#stuckTimer);
  }

  #commitOf(ops: readonly Op[]): Commit {
    this.#named++;
    return { id: `${this.#name}-${this.#named}`, fence: this.#fence, ops };
  }

  #undo(
    commit: Commit,
    undo: (outcome: Committed) => readonly Op[],
  ): Promise<Committed | undefined> {
    return new Promise((undone) => {
      const entry: Entry = {
        ...{ commit, chars: 0 },
        resolve: (outcome) => {
          if (outcome.kind !== "committed") undone(undefined);
          else void this.add(undo(outcome)).then(() => undone(outcome));
        },
        // It had not taken effect, and what came after it has: now it cannot.
        abandon: () => undone(undefined),
      };
      this.#enter(entry);
    });
  }

  #enter(entry: Entry): void {
    if (this.#isHeld) this.#waiting.push(entry);
    else this.#submit(entry);
  }

  #submit(entry: Entry): void {
    this.#underWay++;
    this.#log.commit(this.#session, entry.commit).then(
      (outcome) => {
        this.#done(entry, outcome);
        this.#settled();
      },
      (error: unknown) => {
        this.#onError(entry, error);
        this.#settled();
      },
    );
  }

  #onError(entry: Entry, error: unknown): void {
    if (entry.reject !== undefined) {
      entry.reject(error);
    } else if (entry.abandon !== undefined && error instanceof AssertionError) {
      entry.abandon();
    } else {
      this.#hold(error);
      this.#failed.push(entry);
    }
  }

  #hold(error: unknown): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#news.onFailure(error);
    if (this.#isClosed) return;
    this.#stuckTimer = setInterval(() => this.#news.onStuck(), this.#news.patienceMs);
    this.#stuckTimer.unref();
  }

  #flow(): void {
    this.#isHeld = false;
    this.#retryMs = bounds.commitRetryMs;
    clearInterval(this.#stuckTimer);
    this.#news.onHealed();
  }

  #done(entry: Entry, outcome: CommitOutcome): void {
    this.#queuedChars -= entry.chars;
    if (this.#queuedChars <= bounds.commitQueueCharsMax) {
      for (const resolve of this.#onRoom.splice(0)) resolve();
    }
    if (outcome.kind === "fenced") this.#news.onFenced();
    entry.resolve(outcome);
  }

  #settled(): void {
    this.#underWay--;
    if (this.#underWay > 0 || !this.#isHeld || this.#isClosed) return;
    this.#waiting = [...this.#failed.splice(0), ...this.#waiting];
    if (this.#waiting.length === 0) {
      this.#flow();
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, bounds.commitRetryMaxMs);
  }

  async #probe(): Promise<void> {
    const probe = this.#waiting.shift();
    if (probe === undefined) return;
    this.#underWay++;
    try {
      const outcome = await this.#log.commit(this.#session, probe.commit);
      this.#flow();
      this.#done(probe, outcome);
      for (const entry of this.#waiting.splice(0)) this.#submit(entry);
    } catch (error) {
      this.#onError(probe, error);
    }
    this.#settled();
  }
}

function awayError(): Error {
  return new Error("the store does not take writes at present");
}

/** Each gets the places of its own events. */
function tellEach(joined: readonly Joined[], outcome: CommitOutcome): void {
  let from = 0;
  for (const { ops, resolve } of joined) {
    const to = from + ops.filter(({ op }) => op === "append").length;
    const own = outcome.kind === "committed" ? outcome.appended.slice(from, to) : [];
    resolve(outcome.kind === "committed" ? { ...outcome, appended: own } : outcome);
    from = to;
  }
}
