/**
 * Commits that wait, and the trips that carry them. Commits of one turn of the event loop go together;
 * those of a session stay in order, since it is part of one trip at a time.
 */
import type { Commit, CommitOutcome, SessionId } from "@holdfast/log";
import { type Done, type Group, runBatch } from "./batch.ts";
import type { Desk } from "./desk.ts";
import { createUncertainWrites, type UncertainWrites } from "./uncertain.ts";

/** What one trip carries at most; the rest waits for the next. */
const commitsMax = 1_000;
const textMax = 16 * 1024 * 1024;
/** Trips under way at one time. More of them would be smaller. */
const tripsMax = 3;

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export class CommitQueue {
  readonly #desk: Desk;
  readonly #onDone: (session: SessionId, done: Done) => void;
  readonly #uncertain: UncertainWrites = createUncertainWrites();
  readonly #waiting = new Map<SessionId, Waiting[]>();
  readonly #underWay = new Set<SessionId>();
  #trips = new Set<Promise<void>>();
  #isStarting = false;

  /** @param onDone - called after the commits of a session have resolved */
  constructor(desk: Desk, onDone: (session: SessionId, done: Done) => void) {
    this.#desk = desk;
    this.#onDone = onDone;
  }

  commit(session: SessionId, commit: Commit): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(session) ?? [];
      this.#waiting.set(session, waiting);
      waiting.push({ commit, resolve, reject });
      this.#startSoon();
    });
  }

  /** Until nothing waits and nothing is under way. */
  async drained(): Promise<void> {
    while (this.#waiting.size > 0 || this.#trips.size > 0) {
      this.#start();
      await Promise.race(this.#trips);
    }
  }

  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    setImmediate(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#trips.size < tripsMax) {
      const batch = this.#take();
      if (batch.size === 0) return;
      const trip = this.#carry(batch).finally(() => {
        this.#trips.delete(trip);
        for (const session of batch.keys()) this.#underWay.delete(session);
        this.#start();
      });
      this.#trips.add(trip);
    }
  }

  #take(): Map<SessionId, readonly Waiting[]> {
    const batch = new Map<SessionId, readonly Waiting[]>();
    let commits = 0;
    let text = 0;
    for (const [session, waiting] of this.#waiting) {
      if (commits >= commitsMax || text >= textMax) break;
      if (this.#underWay.has(session)) continue;
      let many = 0;
      const fence = waiting[0]?.commit.fence;
      while (commits < commitsMax && (text < textMax || many === 0)) {
        const commit = waiting[many]?.commit;
        // Another fence is another owner's time: a write has one.
        if (commit === undefined || commit.fence !== fence) break;
        text += textOf(commit);
        commits += 1;
        many += 1;
      }
      batch.set(session, waiting.splice(0, many));
      if (waiting.length === 0) this.#waiting.delete(session);
      this.#underWay.add(session);
    }
    return batch;
  }

  async #carry(batch: ReadonlyMap<SessionId, readonly Waiting[]>): Promise<void> {
    const open = new Map(batch);
    const groups = [...batch].map(
      ([session, waiting]): Group => ({
        session,
        commits: waiting.map(({ commit }) => commit),
      }),
    );
    try {
      await runBatch(this.#desk, this.#uncertain, groups, ({ session }, done) => {
        const waiting = open.get(session) ?? [];
        open.set(session, waiting.slice(done.answers.length));
        done.answers.forEach((answer, i) => {
          const { resolve, reject } = waiting[i] as Waiting;
          if (answer.kind === "mistake") reject(answer.error);
          else resolve(answer.outcome);
        });
        this.#onDone(session, done);
      });
    } catch (error) {
      for (const [session, waiting] of open) {
        // What came after it was called before its failure could be told: none may overtake it.
        const later = this.#waiting.get(session) ?? [];
        this.#waiting.delete(session);
        for (const { reject } of [...waiting, ...later]) reject(error);
      }
    }
  }
}

/** Characters, near enough to bytes for a bound. */
function textOf({ ops }: Commit): number {
  let text = 0;
  for (const op of ops) {
    if (op.op === "append") text += op.text.length;
    else if (op.op === "create" || op.op === "record") text += op.data.length;
  }
  return text;
}
