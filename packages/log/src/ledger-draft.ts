/**
 * The idempotency ledger as one commit changes it: who holds a key, and what became of its call.
 * Pure but for the draft that it is given.
 *
 *     free ──open──▶ running ──response──▶ answered
 *      ▲                │ response that says so, cancel, end of the session
 *      │                ▼
 *      └──ttl────── unknown ──open, isRerun──▶ running, of another call
 */
import assert from "node:assert/strict";
import type { Call, Claim, KeyClaim, SessionId, StreamState } from "./event-log.ts";

/** A key with what the ledger holds of it. */
export interface LedgerEntry {
  readonly scope: string;
  readonly key: string;
  readonly claim: Claim;
}

export interface LedgerDraft {
  /** Whose commit it is. */
  readonly session: SessionId;
  /** What the ledger holds of a key before the commit. */
  readonly before: (scope: string, key: string) => Claim | undefined;
  /** By {@link ledgerName}: what the commit has changed so far. */
  readonly entries: Map<string, LedgerEntry>;
}

/** What a key counts for beside its response, bytes: its row, its payload's digest, its request. */
export const keyBytes = 512;

/** What a key counts for once its call is over. */
export function bytesOfClaim({ outcome }: Claim): number {
  if (outcome.kind === "running") return 0;
  return keyBytes + (outcome.kind === "answered" ? Buffer.byteLength(outcome.text) : 0);
}

/** Names a key among all scopes. */
export function ledgerName(scope: string, key: string): string {
  return JSON.stringify([scope, key]);
}

/**
 * Claim the keys of calls that are being opened [C X-03].
 *
 * @returns the claim of another call that stands against it; `undefined` if none does
 */
export function claimKeys(
  draft: LedgerDraft,
  stream: number,
  calls: readonly Call[],
): Claim | undefined {
  for (const [call, { claim: asked, ...request }] of calls.entries()) {
    if (asked === undefined) continue;
    const { scope, key, digest, isRerun } = asked;
    const name = ledgerName(scope, key);
    assert(!draft.entries.has(name), "open: two operations of one commit are about one key");
    const held = draft.before(scope, key);
    if (held !== undefined && !(isRerun && held.outcome.kind === "unknown")) return held;
    const { session } = draft;
    const claim: Claim = { digest, session, stream, call, request, outcome: { kind: "running" } };
    draft.entries.set(name, { scope, key, claim });
  }
  return undefined;
}

/** A call is over. A key that belongs to another call by now is left alone. */
export function settleKey(
  draft: LedgerDraft,
  { stream, calls }: Pick<StreamState, "stream" | "calls">,
  call: number,
  outcome: Claim["outcome"],
): void {
  const asked = calls[call]?.claim;
  if (asked === undefined) return;
  const held = heldOf(draft, asked);
  if (held?.outcome.kind !== "running" || held.session !== draft.session) return;
  if (held.stream !== stream || held.call !== call) return;
  const { scope, key } = asked;
  draft.entries.set(ledgerName(scope, key), { scope, key, claim: { ...held, outcome } });
}

/** Nothing can answer the calls of a session that is over: nobody may wait for them [C X-05]. */
export function abandonKeys(draft: LedgerDraft, streams: Iterable<StreamState>): void {
  for (const stream of streams) {
    for (const [call, { state }] of stream.calls.entries()) {
      if (state !== "running") continue;
      settleKey(draft, stream, call, { kind: "unknown", reason: "session-ended" });
    }
  }
}

function heldOf({ entries, before }: LedgerDraft, { scope, key }: KeyClaim): Claim | undefined {
  return entries.get(ledgerName(scope, key))?.claim ?? before(scope, key);
}
