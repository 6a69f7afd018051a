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
import { randomBytes } from "node:crypto";
import type { Commit, CommitOutcome, EventLog, Op, SessionId } from "@holdfast/log";
import { bounds } from "./options.ts";

interface Entry {
  readonly commit: Commit;
  readonly chars: number;
  resolve(outcome: CommitOutcome): void;
}

export class CommitQueue {
  readonly #log: EventLog;
  readonly #session: SessionId;
  readonly #name: string;
  readonly #onFailure: (error: unknown) => void;
  /** Handed to the log, not yet settled. */
  #underWay = 0;
  /** Failed ones first, then those that came after the failure. Empty while flowing. */
  #waiting: Entry[] = [];
  #failed: Entry[] = [];
  #isHeld = false;
  #retryMs: number = bounds.commitRetryMs;
  #timer: NodeJS.Timeout | undefined;
  /** Commits that were added, for their ids. */
  #added = 0;
  #queuedChars = 0;
  #onRoom: (() => void)[] = [];
  #isClosed = false;

  constructor(
    log: EventLog,
    session: SessionId,
    name: string,
    onFailure: (error: unknown) => void,
  ) {
    this.#log = log;
    this.#session = session;
    // A session that was put to rest has another queue when it is back: its commits are new ones.
    this.#name = `${name}-${randomBytes(6).toString("hex")}`;
    this.#onFailure = onFailure;
  }

  /** Commits fail at present: what can be refused should be [C D-03]. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Commit what must not be lost: tried again until it is done. */
  add(ops: readonly Op[], chars = 0): Promise<CommitOutcome> {
    return new Promise((resolve) => {
      this.#queuedChars += chars;
      this.#added++;
      const id = `${this.#name}-${this.#added}`;
      const entry = { commit: { id, fence: 0, ops }, chars, resolve };
      if (this.#isHeld) this.#waiting.push(entry);
      else this.#submit(entry);
    });
  }

  /**
   * Commit what can be refused: tried once.
   *
   * @throws what the log throws; the change may have been made
   */
  async tryOnce(ops: readonly Op[]): Promise<CommitOutcome> {
    if (this.#isHeld) throw new Error("the store does not take writes at present");
    this.#underWay++;
    try {
      // Without an id: it is never repeated.
      return await this.#log.commit(this.#session, { fence: 0, ops });
    } finally {
      this.#settled();
    }
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
  }

  #submit(entry: Entry): void {
    this.#underWay++;
    this.#log.commit(this.#session, entry.commit).then(
      (outcome) => {
        this.#done(entry, outcome);
        this.#settled();
      },
      (error: unknown) => {
        if (!this.#isHeld) this.#onFailure(error);
        this.#isHeld = true;
        this.#failed.push(entry);
        this.#settled();
      },
    );
  }

  #done(entry: Entry, outcome: CommitOutcome): void {
    this.#queuedChars -= entry.chars;
    if (this.#queuedChars <= bounds.commitQueueCharsMax) {
      for (const resolve of this.#onRoom.splice(0)) resolve();
    }
    entry.resolve(outcome);
  }

  #settled(): void {
    this.#underWay--;
    if (this.#underWay > 0 || !this.#isHeld || this.#isClosed) return;
    this.#waiting = [...this.#failed.splice(0), ...this.#waiting];
    const probe = this.#waiting[0];
    if (probe === undefined) {
      this.#isHeld = false;
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, bounds.commitRetryMaxMs);
  }

  async #probe(): Promise<void> {
    const [probe, ...rest] = this.#waiting;
    if (probe === undefined) return;
    this.#waiting = rest;
    this.#underWay++;
    try {
      const outcome = await this.#log.commit(this.#session, probe.commit);
      this.#isHeld = false;
      this.#retryMs = bounds.commitRetryMs;
      this.#done(probe, outcome);
      for (const entry of this.#waiting.splice(0)) this.#submit(entry);
    } catch {
      this.#failed.push(probe);
    }
    this.#settled();
  }
}
