/**
 * Several commits to one session, planned one after the other, as one write. Pure.
 *
 * Each is planned on what the ones before it have left; all of them take effect together.
 */
import assert from "node:assert/strict";
import {
  type Claim,
  type Commit,
  type CommitOutcome,
  type Holding,
  type LedgerEntry,
  ledgerName,
  type NodeId,
  type Plan,
  type PlannedEntry,
  type PlannedEvent,
  planCommit,
  type Refused,
  type SessionId,
  type SessionState,
  type StreamState,
} from "@holdfast/log";
import type { SessionEntry } from "./book.ts";

/** A key that the write changes: as it was for the plan, and as it is to be. */
export interface ClaimChange {
  readonly entry: LedgerEntry;
  /** `undefined`: nobody held it. */
  readonly before: Claim | undefined;
}

/** What is to be written to one session. */
export interface Write {
  readonly session: SessionState;
  readonly streams: ReadonlyMap<number, StreamState>;
  readonly events: readonly PlannedEvent[];
  readonly claims: ReadonlyMap<string, ClaimChange>;
  /** For the inbox of the owner. */
  readonly sent: readonly PlannedEntry[];
  readonly holding: Holding;
  /** Set: the session was in use, by a client that came back to it or not. */
  readonly touch: { readonly isUsed: boolean } | undefined;
  /** Streams of which there is news. */
  readonly news: ReadonlySet<number>;
}

/** What becomes of one commit, if the write takes effect. */
export type Answer =
  | { readonly kind: "outcome"; readonly outcome: CommitOutcome }
  /** The operations made no sense; this commit alone is refused. */
  | { readonly kind: "mistake"; readonly error: assert.AssertionError };

export interface Draft {
  /** One for each commit, in their order; for fewer than there are, if one was doubtful. */
  readonly answers: readonly Answer[];
  /** `undefined`: nothing is to be written. */
  readonly write: Write | undefined;
}

export interface Grounds {
  readonly id: SessionId;
  /** `undefined`: the session is not there. */
  readonly entry: SessionEntry | undefined;
  /** What the ledger holds of keys, as far as it was asked, by ledger name. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** For a session that is made. */
  readonly incarnation: string;
  readonly node: NodeId;
  readonly wallMs: number;
  readonly bytesMax: number;
}

/** The outcome of an attempt that took effect before. */
export type Recall = (id: string | undefined) => CommitOutcome | undefined;

/**
 * @param isCertain - what is known of the session was read just now; else a commit that is not
 * planned, but refused, is doubtful (the store checks a plan, not a refusal): nothing is said of it,
 * and of those after it
 */
export function draftWrite(
  grounds: Grounds,
  commits: readonly Commit[],
  recall: Recall,
  isCertain: boolean,
): Draft {
  const sums = new Sums(grounds);
  const answers: Answer[] = [];
  const fresh = new Map<string, CommitOutcome>();
  for (const { id, fence, ops } of commits) {
    const known = recall(id) ?? fresh.get(id ?? "");
    if (known !== undefined) {
      answers.push({ kind: "outcome", outcome: known });
      continue;
    }
    const plan = sums.plan(ops, fence);
    if (!isCertain && ("error" in plan || plan.kind !== "planned")) break;
    if ("error" in plan) {
      answers.push({ kind: "mistake", error: plan.error });
      continue;
    }
    const outcome = plan.kind === "planned" ? committed(plan, sums.holding) : plan;
    answers.push({ kind: "outcome", outcome });
    if (id !== undefined && outcome.kind !== "absent") fresh.set(id, outcome);
  }
  return { answers, write: sums.write() };
}

function committed({ appended, begun }: Plan, holding: Holding): CommitOutcome {
  return { kind: "committed", appended, begun, holding };
}

/** What the commits so far come to. */
class Sums {
  readonly #grounds: Grounds;
  #session: SessionState | undefined;
  #touch: { readonly isUsed: boolean } | undefined;
  #holding: Holding;
  #responseBytes: number;
  #sentBytes = 0;
  #isChanged = false;
  readonly #streams = new Map<number, StreamState>();
  readonly #events: PlannedEvent[] = [];
  readonly #claims = new Map<string, ClaimChange>();
  readonly #news = new Set<number>();
  readonly #sent: PlannedEntry[] = [];

  constructor(grounds: Grounds) {
    this.#grounds = grounds;
    this.#session = grounds.entry?.state;
    this.#responseBytes = grounds.entry?.responseBytes ?? 0;
    const made = { owner: grounds.node, fence: 1, inbox: 0, calls: 0, streams: 0 };
    this.#holding = grounds.entry?.holding ?? made;
  }

  /** As it is after the commits so far. */
  get holding(): Holding {
    return this.#holding;
  }

  plan(
    ops: Commit["ops"],
    shownFence: number,
  ): Plan | Refused | { readonly error: assert.AssertionError } {
    const { id, entry, wallMs, bytesMax } = this.#grounds;
    const incarnation = entry?.incarnation ?? this.#grounds.incarnation;
    const waiting = entry?.inbox ?? { entries: 0, bytes: 0 };
    try {
      const plan = planCommit(
        {
          ...{ id, incarnation, wallMs, bytesMax },
          session: this.#session,
          stream: (stream) => this.#stream(stream),
          running: () => this.#running(),
          claim: (scope, key) => this.#claim(ledgerName(scope, key)),
          responseBytes: () => this.#responseBytes,
          shared: {
            ...{ fence: this.#holding.fence, shownFence },
            entries: waiting.entries + this.#sent.length,
            bytes: waiting.bytes + this.#sentBytes,
          },
        },
        ops,
      );
      if (plan.kind === "planned") this.#add(plan);
      return plan;
    } catch (error) {
      if (error instanceof assert.AssertionError) return { error };
      throw error;
    }
  }

  write(): Write | undefined {
    const session = this.#session;
    if (!this.#isChanged || session === undefined) return undefined;
    return {
      session,
      streams: this.#streams,
      events: this.#events,
      claims: this.#claims,
      sent: this.#sent,
      holding: this.#holding,
      touch: this.#touch,
      news: this.#news,
    };
  }

  #add(plan: Plan): void {
    this.#isChanged = true;
    this.#session = plan.session;
    if (plan.touch !== undefined) {
      this.#touch = { isUsed: plan.touch.isUsed || this.#touch?.isUsed === true };
    }
    let { calls, streams } = this.#holding;
    for (const [stream, state] of plan.streams) {
      const [before, after] = [runningCalls(this.#stream(stream)), runningCalls(state)];
      calls += after - before;
      streams += Math.sign(after) - Math.sign(before);
      this.#streams.set(stream, state);
    }
    const inbox = this.#holding.inbox + plan.sent.length;
    this.#holding = { ...this.#holding, inbox, calls, streams };
    for (const entry of plan.sent) {
      this.#sent.push(entry);
      this.#sentBytes += Buffer.byteLength(entry.text);
    }
    for (const stream of plan.news) this.#news.add(stream);
    for (const event of plan.events) {
      this.#events.push(event);
      if (event.kind === "response") this.#responseBytes += event.bytes;
    }
    for (const entry of plan.claims) {
      const name = ledgerName(entry.scope, entry.key);
      const before = this.#claims.has(name) ? this.#claims.get(name)?.before : this.#held(name);
      this.#claims.set(name, { entry, before });
    }
  }

  #stream(stream: number): StreamState | undefined {
    return this.#streams.get(stream) ?? this.#grounds.entry?.streams.get(stream);
  }

  #running(): readonly StreamState[] {
    const numbers = new Set([
      ...(this.#grounds.entry?.streams.keys() ?? []),
      ...this.#streams.keys(),
    ]);
    const states = [...numbers].flatMap((stream) => this.#stream(stream) ?? []);
    return states.filter(({ calls, isFinished }) => calls.length > 0 && !isFinished);
  }

  #claim(name: string): Claim | undefined {
    return this.#claims.get(name)?.entry.claim ?? this.#held(name);
  }

  #held(name: string): Claim | undefined {
    return this.#grounds.claims.get(name) ?? this.#grounds.entry?.claims.get(name);
  }
}

function runningCalls(stream: StreamState | undefined): number {
  return stream?.calls.filter(({ state }) => state === "running").length ?? 0;
}
