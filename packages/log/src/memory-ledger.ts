/** The idempotency ledger of the memory log; it outlives sessions and events [C X-03]. */
import type { Claim } from "./event-log.ts";
import { bytesOfClaim, type LedgerEntry, ledgerName } from "./ledger-draft.ts";

export interface MemoryLedger {
  /** What is kept of calls that are over. */
  readonly bytes: number;
  /** @param ttlMs - how long a key is kept after its call has ended */
  claim(scope: string, key: string, nowMs: number, ttlMs: number): Claim | undefined;
  put(entry: LedgerEntry, atMs: number): void;
  /** Forget keys whose time has passed. @returns how many, at most `max` */
  expire(nowMs: number, ttlMs: number, max: number): number;
}

export function createMemoryLedger(): MemoryLedger {
  const running = new Map<string, Claim>();
  // In the order in which they were settled, which is the order in which they go.
  const settled = new Map<string, { readonly claim: Claim; readonly atMs: number }>();
  let bytes = 0;
  const forget = (name: string) => {
    const kept = settled.get(name);
    if (kept === undefined) return;
    bytes -= bytesOfClaim(kept.claim);
    settled.delete(name);
  };
  return {
    get bytes() {
      return bytes;
    },
    claim: (scope, key, nowMs, ttlMs) => {
      const name = ledgerName(scope, key);
      const kept = settled.get(name);
      if (kept === undefined) return running.get(name);
      return kept.atMs + ttlMs > nowMs ? kept.claim : undefined;
    },
    put: ({ scope, key, claim }, atMs) => {
      const name = ledgerName(scope, key);
      running.delete(name);
      forget(name);
      bytes += bytesOfClaim(claim);
      if (claim.outcome.kind === "running") running.set(name, claim);
      else settled.set(name, { claim, atMs });
    },
    expire: (nowMs, ttlMs, max) => {
      let gone = 0;
      for (const [name, { atMs }] of settled) {
        if (gone >= max || atMs + ttlMs > nowMs) break;
        forget(name);
        gone += 1;
      }
      return gone;
    },
  };
}
