/**
 * Commits on their way to the store: of each session one batch at a time, so that their order is
 * that of their calls and a batch whose answer was lost can be told from one that came later; of
 * different sessions, all at once.
 *
 * A commit that creates a session is announced to the index, and one that opens calls under keys
 * claims them, before the batch is sent.
 */
import { AssertionError } from "node:assert";
import {
  type Commit,
  type CommitOutcome,
  type Eviction,
  inboxBytesMax,
  inboxEntriesMax,
  type SessionId,
} from "@holdfast/log";
import { type BatchReply, nextBatch, readBatchReply, wishesOf } from "./batch.ts";
import type { Desk } from "./desk.ts";
import { unavailable } from "./faults.ts";
import { type SessionKeys, sessionKeys } from "./keys.ts";
import { claimKey, giveBack, readClaim, settleKeys } from "./ledger.ts";
import { type Asked, type Outcome, readOutcome, writeCommit } from "./operations.ts";
import { indexAgain, indexBirth, indexEnd, indexTouch } from "./session-index.ts";

/** How often the keys of a commit can be found void before it is refused as unavailable. */
const voidsMax = 5;

export interface News {
  readonly id: SessionId;
  readonly keys: SessionKeys;
  /** Of the session, rising by one each time that there is something new. */
  readonly news: number;
  /** Streams with something new; `undefined` for all of them: the session is over. */
  readonly streams: readonly number[] | undefined;
}

export interface LaneEvents {
  onNews(news: News): void;
  onEvicted(evictions: readonly Eviction[]): void;
}

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
  voids: number;
}

interface Lane {
  readonly id: SessionId;
  readonly keys: SessionKeys;
  readonly waiting: Waiting[];
  isUnderWay: boolean;
}

/** A batch with what was asked of the ledger for each of its commits. */
interface Batch {
  readonly commits: readonly Waiting[];
  readonly asked: readonly (readonly Asked[])[];
}

export class Lanes {
  readonly #desk: Desk;
  readonly #node: () => string;
  readonly #events: LaneEvents;
  readonly #lanes = new Map<SessionId, Lane>();
  readonly #writer: string;
  #batches = 0;
  /** Lanes that got their first commit in this turn of the event loop. */
  #fresh: Lane[] = [];
  /** Resolved when no commit waits any more. */
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param writer - names this process's batches, as long as the log is open */
  constructor(desk: Desk, writer: string, node: () => string, events: LaneEvents) {
    this.#desk = desk;
    this.#writer = writer;
    this.#node = node;
    this.#events = events;
  }

  commit(id: SessionId, commit: Commit): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(id);
      lane.waiting.push({ commit, resolve, reject, voids: 0 });
      if (lane.isUnderWay || lane.waiting.length > 1) return;
      this.#fresh.push(lane);
      if (this.#fresh.length === 1) setImmediate(() => this.#start());
    });
  }

  /** When everything that was committed is answered. */
  async idle(): Promise<void> {
    if (this.#lanes.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  #laneOf(id: SessionId): Lane {
    const known = this.#lanes.get(id);
    if (known !== undefined) return known;
    const keys = sessionKeys(this.#desk.keys.prefix, id);
    const lane: Lane = { id, keys, waiting: [], isUnderWay: false };
    this.#lanes.set(id, lane);
    return lane;
  }

  #start(): void {
    for (const lane of this.#fresh.splice(0)) void this.#run(lane);
  }

  async #run(lane: Lane): Promise<void> {
    lane.isUnderWay = true;
    while (lane.waiting.length > 0) {
      const commits = nextBatch(lane.waiting);
      try {
        await this.#carryOut(lane, commits);
      } catch (error) {
        // What came after it was called before its failure could be told: none may overtake it.
        for (const { reject } of [...commits, ...lane.waiting.splice(0)]) reject(error);
      }
      // Who was answered may commit in the same turn.
      if (lane.waiting.length === 0) await new Promise(setImmediate);
    }
    this.#lanes.delete(lane.id);
    if (this.#lanes.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  async #carryOut(lane: Lane, commits: readonly Waiting[]): Promise<void> {
    const births = commits.flatMap(({ commit: { ops } }) =>
      ops[0]?.op === "create" ? [ops[0]] : [],
    );
    const [asked] = await Promise.all([
      Promise.all(commits.map((one) => this.#claim(lane, one))),
      ...births.map(({ principal }) => indexBirth(this.#desk, { id: lane.id, principal })),
    ]);
    const batch: Batch = { commits, asked };
    const atMs = this.#desk.attendance.time.stampMs();
    const reply = await this.#send(lane, batch, atMs);
    await this.#conclude(lane, batch, reply, atMs);
  }

  /** The keys of one commit, in their order. */
  #claim({ id }: Lane, { commit, voids }: Waiting): Promise<readonly Asked[]> {
    const wishes: Promise<Asked>[] = [];
    for (const wish of wishesOf(id, commit, voids)) wishes.push(claimKey(this.#desk, wish));
    return Promise.all(wishes);
  }

  async #send({ id, keys }: Lane, { commits, asked }: Batch, atMs: number): Promise<BatchReply> {
    const { line, settings, attendance, keys: store } = this.#desk;
    const { windowMs, maxEvents, maxBytes } = settings.retention;
    this.#batches += 1;
    const args = [
      ...[`${atMs}`, `${attendance.time.nowMs()}`, `${settings.clock.wallMs()}`],
      ...[attendance.incarnation, `${windowMs}`, `${maxEvents}`, `${maxBytes}`],
      ...[this.#writer, `${this.#batches}`, `${attendance.generation}`],
      ...[attendance.lossIncarnation, this.#node(), `${inboxEntriesMax}`, `${inboxBytesMax}`],
      ...[keys.channel, store.nodeChannels, `${commits.length}`],
    ];
    commits.forEach(({ commit }, i) => {
      for (const arg of writeCommit(id, commit, asked[i] ?? [])) args.push(arg);
    });
    const reply = await line.script("commit", keys.all, args);
    // Sent before, and held up on the way: a later one was here since, and this one was given up.
    if (reply === "late") throw unavailable(this.#desk.location, "an answer came too late");
    return readBatchReply(id, reply);
  }

  async #conclude(lane: Lane, batch: Batch, reply: BatchReply, atMs: number): Promise<void> {
    const outcomes = reply.outcomes.map((text) => readOutcome(text, reply.tag));
    const { attendance } = this.#desk;
    if (reply.tag !== "") attendance.acknowledged(lane.keys.name, reply.revision);
    const again: Waiting[] = [];
    const answers: (() => void)[] = [];
    const after: Promise<void>[] = [this.#spread(lane, batch, outcomes, reply, atMs)];
    for (const [i, outcome] of outcomes.entries()) {
      const one = batch.commits[i];
      if (one === undefined) throw new Error("a commit was answered that was not sent");
      const won = (batch.asked[i] ?? []).filter(({ kind }) => kind === "won");
      const isCommitted = outcome.kind === "done" && outcome.outcome.kind === "committed";
      if (!isCommitted && won.length > 0) after.push(giveBack(this.#desk, won));
      if (outcome.kind === "void") again.push(one);
      else answers.push(await this.#answerOf(one, outcome, batch.asked[i] ?? []));
    }
    // The commit is done: what of this fails is made good by who asks next, or by the sweep.
    await Promise.allSettled(after);
    for (const answer of answers) answer();
    this.#tell(lane, reply, outcomes);
    for (const one of again) one.voids += 1;
    const [first] = again;
    if (first !== undefined && first.voids > voidsMax) {
      throw unavailable(this.#desk.location, "its keys change hands too fast");
    }
    lane.waiting.unshift(...again);
  }

  /** What the caller is told of one commit, once it may be told. */
  async #answerOf(
    { resolve, reject }: Waiting,
    outcome: Exclude<Outcome, { kind: "void" }>,
    asked: readonly Asked[],
  ): Promise<() => void> {
    if (outcome.kind === "mistake") {
      const { message } = outcome;
      return () => reject(new AssertionError({ message }));
    }
    if (outcome.kind === "done") return () => resolve(outcome.outcome);
    const { name, claim } = outcome;
    if (claim.outcome.kind !== "answered") return () => resolve({ kind: "claimed", claim });
    const held = asked.find((one) => one.kind === "held" && one.name === name);
    const whole = held?.kind === "held" ? held.claim : await readClaim(this.#desk, name);
    return () => resolve({ kind: "claimed", claim: whole ?? claim });
  }

  /** Bring what lies elsewhere in line with what the session has committed. */
  async #spread(
    { id, keys }: Lane,
    { commits }: Batch,
    outcomes: readonly Outcome[],
    reply: BatchReply,
    atMs: number,
  ): Promise<void> {
    const { principal } = reply;
    const work: Promise<void>[] = [];
    if (reply.settled.length > 0) {
      const texts = textsByPlace(commits, outcomes);
      const settled = reply.settled.map((one) => {
        const place = one.text.slice(one.text.lastIndexOf(" ") + 1);
        return { ...one, response: texts.get(place) ?? "" };
      });
      const [, , , , , , unsettled] = keys.all;
      work.push(settleKeys(this.#desk, settled, unsettled));
    }
    for (const [i, outcome] of outcomes.entries()) {
      const ops = commits[i]?.commit.ops ?? [];
      const isDone = outcome.kind === "done" && outcome.outcome.kind === "committed";
      const [first] = ops;
      if (!isDone) {
        if (first?.op !== "create" || outcome.kind === "void") continue;
        work.push(indexAgain(this.#desk, { id, principal: first.principal }));
        continue;
      }
      if (ops.some(({ op }) => op === "end")) {
        work.push(indexEnd(this.#desk, { id, principal }));
      } else if (ops.some(({ op }) => op === "touch")) {
        work.push(indexTouch(this.#desk, keys, atMs, reply.isUsed));
      }
    }
    await Promise.all(work);
  }

  #tell({ id, keys }: Lane, reply: BatchReply, outcomes: readonly Outcome[]): void {
    if (reply.evictions.length > 0) this.#events.onEvicted(reply.evictions);
    const isDone = outcomes.some(({ kind }) => kind === "done");
    if (!isDone || (reply.changed.length === 0 && !reply.isOver)) return;
    const streams = reply.isOver ? undefined : reply.changed;
    this.#events.onNews({ id, keys, news: reply.news, streams });
  }
}

/** What a batch appended, by `stream:position`. */
function textsByPlace(
  commits: readonly Waiting[],
  outcomes: readonly Outcome[],
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [i, one] of outcomes.entries()) {
    if (one.kind !== "done" || one.outcome.kind !== "committed") continue;
    const appends = commits[i]?.commit.ops.filter((op) => op.op === "append") ?? [];
    one.outcome.appended.forEach(({ stream, position }, n) => {
      texts.set(`${stream}:${position}`, appends[n]?.text ?? "");
    });
  }
  return texts;
}
