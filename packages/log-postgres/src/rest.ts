/**
 * Sessions that have rested long enough, by an index on when they were last touched.
 *
 *     0 never used, 1 used ──touch──▶ 1 used ──rested, but its newest event's window has not
 *                                        ▲     passed──▶ 2 waits, ordered by that event
 *                                        └──────touch───────┘
 *
 * One that has to wait is put aside in the store, so that it costs later calls nothing and stands in
 * nobody's way. So each session looked at is one that is returned, or one less to look at.
 */
import { type RestLimits, restEndMs, type SessionId } from "@holdfast/log";
import type { Desk } from "./desk.ts";

/** Sessions that one call looks at, at most (of one page more, to be exact). */
const lookMax = 5_000;
const pageRows = 128;

interface RestingRow {
  readonly id: number;
  readonly name: string;
  readonly touched_at_ms: number;
  readonly rest_at_ms: number;
  readonly version: number;
  readonly newest_at_ms: number | null;
}

interface Aside {
  readonly row: RestingRow;
  readonly rest: 1 | 2;
  readonly restAtMs: number;
}

/** @returns the longest waiting first */
export async function restedSessions(
  desk: Desk,
  limits: RestLimits,
): Promise<readonly SessionId[]> {
  const { windowMs } = desk.settings.retention;
  const nowMs = desk.time.nowMs();
  const rested: { readonly name: string; readonly endMs: number }[] = [];
  const aside: Aside[] = [];
  const queues = ([0, 1, 2] as const).map((rest) => queueOf(desk, limits, rest, nowMs));
  let looked = 0;
  while (rested.length < limits.sessions && looked < lookMax) {
    const queue = await earliest(queues);
    const row = await queue?.take();
    if (queue === undefined || row === undefined) break;
    looked += 1;
    const rest = { touchedAtMs: row.touched_at_ms, isUsed: queue.rest !== 0 };
    const newestAtMs = row.newest_at_ms ?? undefined;
    const endMs = restEndMs(rest, () => newestAtMs, limits, windowMs);
    if (endMs <= nowMs) rested.push({ name: row.name, endMs });
    else aside.push(asideOf(row, windowMs, nowMs));
  }
  await putAside(desk, aside);
  return rested.sort((a, b) => a.endMs - b.endMs).map(({ name }) => name as SessionId);
}

/** [C S-02] Its newest event is to be waited for; or it may rest longer than when it was put aside. */
function asideOf(row: RestingRow, windowMs: number, nowMs: number): Aside {
  const newestAtMs = row.newest_at_ms;
  return newestAtMs !== null && newestAtMs + windowMs > nowMs
    ? { row, rest: 2, restAtMs: newestAtMs }
    : { row, rest: 1, restAtMs: row.touched_at_ms };
}

async function putAside({ connections }: Desk, aside: readonly Aside[]): Promise<void> {
  if (aside.length === 0) return;
  await connections.ask(
    "put-aside",
    aside.map(({ row }) => row.id),
    aside.map(({ row }) => row.version),
    aside.map(({ rest }) => rest),
    aside.map(({ restAtMs }) => restAtMs),
  );
}

interface Queue {
  readonly rest: 0 | 1 | 2;
  /** When the next one may have rested long enough; Infinity for none. */
  nextMs(): Promise<number>;
  take(): Promise<RestingRow | undefined>;
}

function queueOf(
  { connections, settings }: Desk,
  { idleTtlMs, unusedTtlMs, touchLagMs, sessions }: RestLimits,
  rest: Queue["rest"],
  nowMs: number,
): Queue {
  const waitMs = [unusedTtlMs, idleTtlMs + touchLagMs, settings.retention.windowMs][rest] ?? 0;
  const size = Math.min(pageRows, sessions + 1);
  let rows: readonly RestingRow[] = [];
  let isLastPage = false;
  let after = { rest_at_ms: -1, id: 0 };
  const next = async () => {
    if (rows.length === 0 && !isLastPage) {
      const { rest_at_ms, id } = after;
      rows = await connections.ask<RestingRow>(
        "resting",
        ...[rest, nowMs - waitMs, rest_at_ms, id, size],
      );
      isLastPage = rows.length < size;
      after = rows.at(-1) ?? after;
    }
    return rows[0];
  };
  return {
    rest,
    nextMs: async () => ((await next())?.rest_at_ms ?? Number.POSITIVE_INFINITY) + waitMs,
    take: async () => {
      const row = await next();
      rows = rows.slice(1);
      return row;
    },
  };
}

async function earliest(queues: readonly Queue[]): Promise<Queue | undefined> {
  let first: Queue | undefined;
  let firstMs = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const nextMs = await queue.nextMs();
    if (nextMs < firstMs) [first, firstMs] = [queue, nextMs];
  }
  return first;
}
