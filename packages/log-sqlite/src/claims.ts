/** The idempotency ledger, in rows. A claim outlives its stream and its session [C X-03]. */
import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { Claim, LedgerEntry, SessionId } from "@holdfast/log";
import { one, type Statements } from "./statements.ts";

interface ClaimRow {
  readonly digest: string;
  readonly session: string;
  readonly stream: number;
  readonly call: number;
  readonly request: string;
  readonly response: string | null;
  readonly unknown: string | null;
}

/** @param expiredAtMs - log time; a call that ended then or before no longer counts */
export function readClaim(
  run: Statements,
  scope: string,
  key: string,
  expiredAtMs: number,
): Claim | undefined {
  const row = one<ClaimRow>(run.claim, scope, key, expiredAtMs);
  if (row === undefined) return undefined;
  const { digest, session, stream, call, request } = row;
  return {
    digest,
    session: session as SessionId,
    stream,
    call,
    request: JSON.parse(request) as Claim["request"],
    outcome: outcomeOf(row),
  };
}

function outcomeOf({ response, unknown }: ClaimRow): Claim["outcome"] {
  if (response !== null) return { kind: "answered", text: response };
  if (unknown !== null) return { kind: "unknown", reason: unknown as OutcomeUnknownReason };
  return { kind: "running" };
}

/** What the keys count for whose calls are over, bytes. */
export function ledgerBytes(run: Statements): number {
  return one<{ bytes: number }>(run.ledgerBytes)?.bytes ?? 0;
}

export function writeClaim(run: Statements, { scope, key, claim }: LedgerEntry, atMs: number) {
  const { digest, session, stream, call, outcome } = claim;
  const { id, method, name, startedAtMs } = claim.request;
  run.putClaim.run(
    scope,
    key,
    digest,
    session,
    stream,
    call,
    JSON.stringify({ id, method, name, startedAtMs }),
    outcome.kind === "answered" ? outcome.text : null,
    outcome.kind === "unknown" ? outcome.reason : null,
    outcome.kind === "running" ? null : atMs,
  );
}
