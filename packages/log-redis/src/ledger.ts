/**
 * The idempotency ledger [C X-03]. It lies in another slot than the sessions, so no step changes
 * both: the order of the steps makes up for it (docs/decisions/0023-redis-log.md).
 *
 *     claim ──▶ open (with the claim's token) ──▶ … ──▶ settle
 *       └─ not opened: given back; or, if its node is gone, voided by who wants the key next
 *
 * While a record says `running` the session has the truth, and who reads the record asks it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { OutcomeUnknownReason } from "@holdfast/contract";
import { type Call, type Claim, type KeyClaim, ledgerName, type SessionId } from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { unavailable } from "./faults.ts";
import { digest, sessionKeys } from "./keys.ts";
import type { Asked } from "./operations.ts";
import { listOf, textOf, textsOf } from "./replies.ts";

/** A call that is opened is opened within milliseconds after its claim; else its node is gone. */
const graceMs = 1_000;
const lookAgainMs = 5;
/** How often a key can be found void and claimed again, before it is left to a repetition. */
const roundsMax = 5;

interface LedgerRecord {
  readonly token: string;
  readonly state: "running" | "answered" | "unknown";
  readonly settledAtMs: number;
  readonly reason: OutcomeUnknownReason | undefined;
  readonly stream: number | undefined;
  readonly claim: Omit<Claim, "stream" | "outcome">;
  readonly text: string;
}

/** A call that is to be opened under a key. */
export interface Wish {
  readonly session: SessionId;
  /** Index among the calls of its stream. */
  readonly index: number;
  readonly call: Call;
  readonly claim: KeyClaim;
  readonly token: string;
}

/** Names a key among all scopes. */
export function keyName({ scope, key }: Pick<KeyClaim, "scope" | "key">): string {
  return digest(ledgerName(scope, key));
}

/** Claim the key of a call, or learn who holds it. */
export async function claimKey(desk: Desk, wish: Wish): Promise<Asked> {
  const { line, keys, settings, attendance } = desk;
  const { claim: _, ...request } = wish.call;
  const name = keyName(wish.claim);
  const { digest: payload, isRerun } = wish.claim;
  const kept = { digest: payload, session: wish.session, call: wish.index, request };
  const now = `${attendance.time.stampMs()}`;
  for (let round = 0; round < roundsMax; round += 1) {
    const [held] = textsOf(
      await line.script("claim", keys.ledger, [
        ...[now, `${settings.idempotencyTtlMs}`, name, wish.token, isRerun ? "1" : "0"],
        JSON.stringify(kept),
      ]),
    );
    if (held === undefined) return { kind: "won", name, token: wish.token };
    const claim = await resolve(desk, name, held, true);
    if (claim === undefined) continue;
    // A rerun may take over what is known to be unknown only now.
    if (isRerun && claim.outcome.kind === "unknown" && round + 1 < roundsMax) continue;
    return { kind: "held", name, token: wish.token, claim };
  }
  throw unavailable(desk.location, "an idempotency key changes hands too fast");
}

/** What the ledger holds of a key now. */
export async function readClaim(desk: Desk, name: string): Promise<Claim | undefined> {
  const [ledger] = desk.keys.ledger;
  const record = await desk.line.command("HGET", ledger, name);
  if (record === null) return undefined;
  const { state, settledAtMs } = readRecord(textOf(record));
  const { settings, attendance } = desk;
  const isOver = settledAtMs + settings.idempotencyTtlMs <= attendance.time.nowMs();
  if (state !== "running" && isOver) return undefined;
  return resolve(desk, name, textOf(record), false);
}

/**
 * What a record says, with what the session knows of a call that is running.
 *
 * @param isWanted - wait for a call that is claimed and not opened yet; void it if it never comes
 * @returns `undefined` if the key is free
 */
async function resolve(
  desk: Desk,
  name: string,
  found: string,
  isWanted: boolean,
): Promise<Claim | undefined> {
  const { line, keys } = desk;
  let text: string | null = found;
  for (let waitedMs = 0; text !== null; waitedMs += lookAgainMs) {
    const record = readRecord(text);
    if (record.state !== "running") return claimOf(record);
    const { all } = sessionKeys(keys.prefix, record.claim.session);
    const isVoided = isWanted && waitedMs >= graceMs;
    const looked = textsOf(await line.script("look", all, [record.token, isVoided ? "1" : "0"]));
    const [what, detail = "", response = ""] = looked;
    if (what === "running") return claimOf({ ...record, stream: Number(detail) });
    if (what === "settled") {
      await settleKeys(desk, [{ token: record.token, text: detail, response }]);
    } else if (what === "pending") {
      if (isVoided) return void (await giveBack(desk, [{ name, token: record.token }]));
      if (!isWanted) return undefined;
      await sleep(lookAgainMs);
    }
    const [ledger] = keys.ledger;
    const again: string | null = await line.command("HGET", ledger, name).then(textOrNull);
    // Its session is over and knows no more of it: nobody may wait for it [C X-05].
    if (what === "over" && again === text) await abandon(desk, name, record);
    text = what === "over" && again === text ? await reread(desk, name) : again;
  }
  return undefined;
}

/** A key that is over, as the session says it: `name at stream a n:p`, or `name at stream u reason`. */
export interface Settled {
  readonly token: string;
  readonly text: string;
  /** Its response, where it has one. */
  readonly response: string;
}

/** Tell the ledger, then the session that it was told. */
export async function settleKeys(
  desk: Desk,
  settled: readonly Settled[],
  unsettledKey?: string,
): Promise<void> {
  const args = settled.flatMap(({ token, text, response }) => {
    const [name = "", at = "", stream = "-", state = "", detail = ""] = text.split(" ");
    return [name, token, at, state, state === "u" ? detail : "-", stream, response];
  });
  await desk.line.script("settle", desk.keys.ledger, args);
  if (unsettledKey === undefined) return;
  await desk.line.command("HDEL", unsettledKey, ...settled.map(({ token }) => token));
}

/** Calls that were not opened: their keys are as they were before. */
export async function giveBack(
  desk: Desk,
  claimed: readonly { readonly name: string; readonly token: string }[],
): Promise<void> {
  const args = claimed.flatMap(({ name, token }) => [name, token, "0", "x", "-", "-", ""]);
  await desk.line.script("settle", desk.keys.ledger, args);
}

/** One bounded step: forget keys whose time has passed. @returns how many were looked at */
export async function expireKeys(desk: Desk, max: number): Promise<number> {
  const { line, keys, settings, attendance } = desk;
  const now = `${attendance.time.nowMs()}`;
  const reply = await line.script("expire-keys", keys.ledger, [
    ...[now, `${settings.idempotencyTtlMs}`, `${max}`],
  ]);
  const [count, ...running] = listOf(reply);
  for (let i = 0; i < running.length; i += 2) {
    // Claimed by a node that is gone, or settled by one that died before it could say so.
    await resolve(desk, textOf(running[i]), textOf(running[i + 1]), true);
  }
  return Number(count);
}

async function abandon(desk: Desk, name: string, { token }: LedgerRecord): Promise<void> {
  const at = `${desk.attendance.time.stampMs()}`;
  const args = [name, token, at, "u", "session-ended", "-", ""];
  await desk.line.script("settle", desk.keys.ledger, args);
}

async function reread(desk: Desk, name: string): Promise<string | null> {
  const [ledger] = desk.keys.ledger;
  return desk.line.command("HGET", ledger, name).then(textOrNull);
}

function textOrNull(reply: unknown): string | null {
  return typeof reply === "string" ? reply : null;
}

/** See `lua/claim.lua`. */
function readRecord(text: string): LedgerRecord {
  const end = text.indexOf("\n");
  const [token = "", state, at, reason = "-", stream = "-", ...claim] = text
    .slice(0, end)
    .split(" ");
  return {
    token,
    state: state === "r" ? "running" : state === "a" ? "answered" : "unknown",
    settledAtMs: Number(at),
    reason: reason === "-" ? undefined : (reason as OutcomeUnknownReason),
    stream: stream === "-" ? undefined : Number(stream),
    claim: JSON.parse(claim.join(" ")) as LedgerRecord["claim"],
    text: text.slice(end + 1),
  };
}

function claimOf({
  claim,
  state,
  stream = 0,
  reason = "session-ended",
  text,
}: LedgerRecord): Claim {
  const outcome: Claim["outcome"] =
    state === "answered"
      ? { kind: "answered", text }
      : state === "running"
        ? { kind: "running" }
        : { kind: "unknown", reason };
  const { digest: payload, session, call, request } = claim;
  return { digest: payload, session, stream, call, request, outcome };
}
