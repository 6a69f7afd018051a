/** The index of all sessions (see `lua/index.lua`), which is told after the sessions themselves. */
import { purgeAfterMs, type SessionId } from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { type SessionKeys, sessionKeys } from "./keys.ts";
import { listOf } from "./replies.ts";

interface Named {
  readonly id: SessionId;
  readonly principal: string;
}

/** Before a session is created: one that is in no index would never be swept. */
export async function indexBirth(desk: Desk, { id, principal }: Named): Promise<void> {
  const nowMs = desk.attendance.time.stampMs();
  const dueMs = nowMs + desk.settings.retention.windowMs;
  await tell(desk, principal, ["born", nameOf(desk, id), id, `${dueMs}`, `${nowMs}`]);
}

/** After a creation that was refused: the index says again what is true. */
export async function indexAgain(desk: Desk, { id, principal }: Named): Promise<void> {
  const { session } = sessionKeys(desk.keys.prefix, id);
  const [there, ended] = listOf(await desk.line.command("HMGET", session, "session", "ended"));
  if (there === null) await tell(desk, principal, ["unborn", nameOf(desk, id), id]);
  else if (ended !== null) await indexEnd(desk, { id, principal });
}

export async function indexEnd(desk: Desk, { id, principal }: Named): Promise<void> {
  const dueMs = desk.attendance.time.stampMs() + purgeAfterMs;
  await tell(desk, principal, ["ended", nameOf(desk, id), id, `${dueMs}`]);
}

export async function indexGone(desk: Desk, name: string, id: string, principal: string) {
  await tell(desk, principal, ["unborn", name, id]);
}

export async function indexTouch(
  desk: Desk,
  { name }: SessionKeys,
  atMs: number,
  isUsed: boolean,
): Promise<void> {
  await tell(desk, "", ["touched", name, "", `${atMs}`, isUsed ? "1" : "0"]);
}

/** Where a session waits that has not rested for long enough. */
export type Waiting = "unused" | "used" | "waiting";

export async function indexAside(
  desk: Desk,
  name: string,
  where: Waiting,
  atMs: number,
): Promise<void> {
  const place = { unused: "2", used: "3", waiting: "4" }[where];
  await tell(desk, "", ["aside", name, "", place, `${atMs}`]);
}

export async function indexDue(
  desk: Desk,
  name: string,
  wasDueMs: number,
  dueMs: number,
): Promise<void> {
  await tell(desk, "", ["due", name, "", `${wasDueMs}`, `${dueMs}`]);
}

async function tell(desk: Desk, principal: string, args: readonly string[]): Promise<void> {
  const { index, liveOf } = desk.keys;
  await desk.line.script("index", [...index, liveOf(principal)], args);
}

function nameOf(desk: Desk, id: SessionId): string {
  return sessionKeys(desk.keys.prefix, id).name;
}
