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
import type { Call, Claim, KeyClaim } from "./event-log.ts";

/** A key with what the ledger holds of it. */
export interface LedgerEntry {
  readonly scope: string;
  readonly key: string;
  readonly claim: Claim;
}

/** Which call a claim belongs to. */
export type KeyHolder = Pick<Claim, "session" | "stream" | "call">;

type Lookup = (scope: string, key: string) => Claim | undefined;

/** Names a key among all scopes. */
export function ledgerName(scope: string, key: string): string {
  return JSON.stringify([scope, key]);
}

/**
 * Claim a key for a call that is being opened [C X-03].
 *
 * @param draft - by {@link ledgerName}: what the commit has changed so far
 * @returns the claim that stands against it; `undefined` when the key is this call's now
 */
export function claimKey(
  draft: Map<string, LedgerEntry>,
  before: Lookup,
  { scope, key, digest, isRerun }: KeyClaim,
  holder: KeyHolder,
  request: Omit<Call, "claim">,
): Claim | undefined {
  const name = ledgerName(scope, key);
  assert(!draft.has(name), "open: two operations of one commit are about one key");
  const held = before(scope, key);
  if (held !== undefined && !(isRerun && held.outcome.kind === "unknown")) return held;
  const { session, stream, call } = holder;
  const claim: Claim = { digest, session, stream, call, request, outcome: { kind: "running" } };
  draft.set(name, { scope, key, claim });
  return undefined;
}

/** The call is over. A key that belongs to another call by now is left alone. */
export function settleKey(
  draft: Map<string, LedgerEntry>,
  before: Lookup,
  { scope, key }: KeyClaim,
  holder: KeyHolder,
  outcome: Claim["outcome"],
): void {
  const name = ledgerName(scope, key);
  const held = draft.get(name)?.claim ?? before(scope, key);
  if (held === undefined || held.outcome.kind !== "running" || !isHeldBy(held, holder)) return;
  draft.set(name, { scope, key, claim: { ...held, outcome } });
}

function isHeldBy(claim: Claim, { session, stream, call }: KeyHolder): boolean {
  return claim.session === session && claim.stream === stream && claim.call === call;
}
