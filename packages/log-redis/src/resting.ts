/**
 * Sessions that have rested long enough. The index says who may have, the session itself who has;
 * one that has not is put aside where it belongs, so that it stands in nobody's way the next time.
 *
 *     unused ──touch──▶ used ──rested, but its newest event's window has not passed──▶ waiting
 *                        ▲                                                              │
 *                        └────────────────────────────touch─────────────────────────────┘
 */
import { type RestLimits, restEndMs, type SessionId } from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { namedSession } from "./keys.ts";
import { groupsOf, textsOf } from "./replies.ts";
import { indexAside, type Waiting } from "./session-index.ts";

/** What one call may look at. */
const lookedAtMax = 5_000;
const pageSize = 256;

interface Candidate {
  readonly name: string;
  readonly where: Waiting;
  /** Log time from which on it may have rested. */
  readonly sinceMs: number;
}

interface Rested {
  readonly id: SessionId;
  readonly endMs: number;
}

/** @returns the longest waiting first */
export async function restedSessions(
  desk: Desk,
  limits: RestLimits,
): Promise<readonly SessionId[]> {
  const nowMs = desk.attendance.time.nowMs();
  const rested: Rested[] = [];
  const seen = new Set<string>();
  for (let looked = 0; rested.length < limits.sessions && looked < lookedAtMax; ) {
    const page = await candidates(desk, limits, nowMs, seen);
    if (page.length === 0) break;
    looked += page.length;
    for (const { name } of page) seen.add(name);
    const found = await Promise.all(page.map((one) => lookAt(desk, one, limits, nowMs)));
    rested.push(...found.filter((one) => one !== undefined));
  }
  rested.sort((a, b) => a.endMs - b.endMs);
  return rested.slice(0, limits.sessions).map(({ id }) => id);
}

/** The next of all three queues together, those that may have rested longest. */
async function candidates(
  { line, keys }: Desk,
  { idleTtlMs, unusedTtlMs, touchLagMs, sessions }: RestLimits,
  nowMs: number,
  seen: ReadonlySet<string>,
): Promise<readonly Candidate[]> {
  const size = Math.min(pageSize, sessions) + 1;
  const [, unused, used, waiting] = keys.index;
  const queues: readonly (readonly [Waiting, string, number])[] = [
    ["unused", unused, unusedTtlMs],
    ["used", used, idleTtlMs + touchLagMs],
    ["waiting", waiting, 0],
  ];
  const lists = await Promise.all(
    queues.map(async ([where, key, ttlMs]) => {
      // Those that were seen and found rested are still in front.
      const args = [key, "-inf", `${nowMs - ttlMs}`, "WITHSCORES", "LIMIT", "0"];
      const flat = textsOf(await line.command("ZRANGEBYSCORE", ...args, `${seen.size + size}`));
      return [...groupsOf(flat, 2)].map(([name = "", score]): Candidate => {
        return { name, where, sinceMs: Number(score) + ttlMs };
      });
    }),
  );
  const all = lists.flat().filter(({ name }) => !seen.has(name));
  return all.sort((a, b) => a.sinceMs - b.sinceMs).slice(0, pageSize);
}

/** @returns the session if it has rested; else it is put aside */
async function lookAt(
  desk: Desk,
  { name, where }: Candidate,
  limits: RestLimits,
  nowMs: number,
): Promise<Rested | undefined> {
  const { line, keys, settings } = desk;
  const { session, evictable } = namedSession(keys.prefix, name);
  const reply = textsOf(await line.script("rest", [session, evictable], []));
  const [id, touchedAt, used, newest = ""] = reply;
  // Over, or not created yet, or never: who ended it or sweeps it takes it from the index.
  if (id === undefined) return undefined;
  const { windowMs } = settings.retention;
  const rest = { touchedAtMs: Number(touchedAt), isUsed: used === "1" };
  const newestAtMs = newest === "" ? undefined : Number(newest);
  const endMs = restEndMs(rest, () => newestAtMs, limits, windowMs);
  if (endMs <= nowMs) return { id: id as SessionId, endMs };
  const isHeldUp = rest.isUsed && newestAtMs !== undefined && newestAtMs + windowMs === endMs;
  const place = isHeldUp ? "waiting" : rest.isUsed ? "used" : "unused";
  if (place === where && !isHeldUp) return undefined;
  await indexAside(desk, name, place, isHeldUp ? endMs : rest.touchedAtMs);
  return undefined;
}
