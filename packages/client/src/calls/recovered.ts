/**
 * Calls whose caller is gone [C K-10]: made by an earlier process, or ended as unknown here and
 * answered after all. Each outcome is handed on once: to who asks for it, or to an identical call.
 */
import { type Call, type Ledger, lostCallOf } from "./ledger.ts";
import type { CallOutcome } from "./outcomes.ts";

export interface RecoveredCall {
  /** The id that the earlier caller gave it. */
  readonly id: string | number;
  readonly method: string;
  /** Of the tool, prompt or resource. */
  readonly name?: string;
  /** As it was sent, without `_meta`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly startedAtMs: number;
  /** Result, error or unknown outcome; resolves when it is known, and counts as handed on then. */
  outcome(): Promise<CallOutcome>;
}

interface Entry {
  readonly call: Call;
  /** An outcome is owed; else it is only news. */
  readonly isOwed: boolean;
  readonly ended: PromiseWithResolvers<CallOutcome>;
  outcome: CallOutcome | undefined;
}

export interface Claim {
  readonly call: Call;
  /** Left out while the call runs. */
  readonly outcome: CallOutcome | undefined;
}

/** Outcomes that are kept for who may ask. */
export const recoveredMax = 1_000;

export class RecoveredCalls {
  readonly #ledger: Ledger;
  /** Not taken by anybody yet. */
  readonly #free = new Map<number, Entry>();
  /** Taken by an identical call, still running. */
  readonly #claimed = new Map<number, Entry>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(call: Call, outcome: CallOutcome | undefined, isOwed: boolean): void {
    const ended = Promise.withResolvers<CallOutcome>();
    this.#free.set(call.wireId, { call, isOwed, ended, outcome });
    if (outcome !== undefined) ended.resolve(outcome);
    if (this.#free.size > recoveredMax) this.#dropOldest();
  }

  /** The outcome of a call that nobody has taken; it is kept until somebody does. */
  end(call: Call, outcome: CallOutcome): void {
    const entry = this.#free.get(call.wireId);
    // What was unknown and not taken yet is known now; or it is news.
    if (entry?.outcome !== undefined || entry === undefined) {
      return this.add(call, outcome, entry?.isOwed ?? false);
    }
    entry.outcome = outcome;
    entry.ended.resolve(outcome);
  }

  list(): RecoveredCall[] {
    return [...this.#free.values()].map((entry) => this.#show(entry));
  }

  /** Take an identical call, if there is one that nobody has taken. */
  claim(digest: string): Claim | undefined {
    for (const [wireId, entry] of this.#free) {
      if (!entry.isOwed || entry.call.stored.digest !== digest) continue;
      const { call, outcome } = entry;
      this.#free.delete(wireId);
      if (outcome === undefined) this.#claimed.set(wireId, entry);
      else this.#ledger.forget(call);
      return { call, outcome };
    }
    return undefined;
  }

  /** An identical call had taken this one, and got its outcome, or was cancelled. */
  delivered({ wireId }: Call, outcome: CallOutcome | undefined): void {
    if (outcome !== undefined) this.#claimed.get(wireId)?.ended.resolve(outcome);
    this.#claimed.delete(wireId);
  }

  #show(entry: Entry): RecoveredCall {
    const { call, ended } = entry;
    const { id, ...lost } = lostCallOf(call);
    const { _meta, ...params } = Object(call.message.params) as Record<string, unknown>;
    return {
      ...lost,
      id: JSON.parse(id) as string | number,
      params,
      outcome: async () => {
        const outcome = await ended.promise;
        if (this.#free.get(call.wireId) === entry) this.#remove(entry);
        return outcome;
      },
    };
  }

  #remove({ call }: Entry): void {
    this.#free.delete(call.wireId);
    this.#ledger.forget(call);
  }

  /** Outcomes that nobody asked for make room for newer ones. */
  #dropOldest(): void {
    const oldest = [...this.#free.values()].find(({ outcome }) => outcome !== undefined);
    if (oldest !== undefined) this.#remove(oldest);
  }
}
