/** What time undoes, in bounded steps: the sessions that the index says have something due. */
import {
  type Eviction,
  purgeAfterMs,
  type SessionId,
  type SweepOutcome,
  tombstoneMs,
} from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { namedSession } from "./keys.ts";
import { expireKeys, settleKeys } from "./ledger.ts";
import { groupsOf, listOf, textOf, textsOf } from "./replies.ts";
import { indexDue, indexEnd, indexGone } from "./session-index.ts";

/** One step looks at no more sessions, and takes no more events or keys, than these. */
const sessionsMax = 200;
const eventsMax = 500;
const keysMax = 500;

export async function sweepStep(
  desk: Desk,
  onEvicted: (evictions: readonly Eviction[]) => void,
): Promise<SweepOutcome> {
  const { line, keys, attendance } = desk;
  const nowMs = attendance.time.nowMs();
  const [due] = keys.index;
  const query = [due, "-inf", `${nowMs}`, "WITHSCORES", "LIMIT", "0", `${sessionsMax}`];
  const flat = textsOf(await line.command("ZRANGEBYSCORE", ...query));
  const sessions = [...groupsOf(flat, 2)];
  let left = eventsMax;
  for (const [name = "", wasDue] of sessions) {
    if (left <= 0) return { isBehind: true };
    const evictions = await sweepSession(desk, name, Number(wasDue), nowMs, left);
    for (const { events } of evictions) left -= events;
    if (evictions.length > 0) onEvicted(evictions);
  }
  const looked = await expireKeys(desk, keysMax);
  return { isBehind: left <= 0 || sessions.length === sessionsMax || looked === keysMax };
}

async function sweepSession(
  desk: Desk,
  name: string,
  wasDueMs: number,
  nowMs: number,
  eventsLeft: number,
): Promise<readonly Eviction[]> {
  const { line, keys, settings, attendance } = desk;
  const { all } = namedSession(keys.prefix, name);
  const [, , , , , , unsettled] = all;
  const args = [
    ...[`${nowMs}`, `${settings.retention.windowMs}`, `${eventsLeft}`, `${purgeAfterMs}`],
    ...[`${tombstoneMs}`, `${attendance.generation}`, attendance.lossIncarnation],
  ];
  const named = await principalOf(desk, name);
  let reply = listOf(await line.script("sweep", all, args));
  if (reply[0] === "unsettled") {
    // Whoever committed them died before the ledger was told.
    const texts = [...groupsOf(textsOf(reply.slice(1)), 2)];
    const [, , events = ""] = all;
    const settled = texts.map(async ([token = "", text = ""]) => {
      const place = text.slice(text.lastIndexOf(" ") + 1);
      const event = / a \d+:\d+$/.test(text) ? await line.command("HGET", events, place) : null;
      return { token, text, response: typeof event === "string" ? event.slice(1) : "" };
    });
    await settleKeys(desk, await Promise.all(settled), unsettled);
    reply = listOf(await line.script("sweep", all, args));
  }
  const [kind, id, isMore, due, isOver, evicted] = reply;
  if (kind === "gone") {
    await indexGone(desk, name, named?.id ?? "", named?.principal ?? "");
    return [];
  }
  // Settled by others meanwhile, again: the next step comes back to it.
  if (kind !== "swept") return [];
  const session = textOf(id) as SessionId;
  if (isOver === "1") await indexEnd(desk, { id: session, principal: named?.principal ?? "" });
  if (isMore !== "1") await indexDue(desk, name, wasDueMs, Number(due));
  return [...groupsOf(textsOf(evicted), 5)].map((one) => {
    const [stream = 0, through = 0, events = 0, bytes = 0, ageMs = 0] = one.map(Number);
    const why = { cause: "window", isBreach: false } as const;
    return { session, stream, through, events, bytes, ageMs, ...why };
  });
}

async function principalOf(
  { line, keys }: Desk,
  name: string,
): Promise<{ readonly id: string; readonly principal: string } | undefined> {
  const { session } = namedSession(keys.prefix, name);
  const [id, principal] = listOf(await line.command("HMGET", session, "session", "principal"));
  if (typeof id !== "string" || typeof principal !== "string") return undefined;
  return { id, principal };
}
