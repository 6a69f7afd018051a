/**
 * Sessions that have rested long enough, by an index on when they were last touched.
 *
 *     0 never used, 1 used ──touch──▶ 1 used ──rested, but its newest event's window has not
 *                                        ▲     passed──▶ 2 waits, ordered by that event
 *                                        └──────touch───────┘
 *
 * One that has to wait is put aside in the file, so that it costs later calls nothing and stands in
 * nobody's way. So each session looked at is one that is returned, or one less to look at.
 */
import { type RestLimits, restEndMs, type SessionId } from "@holdfast/log";
import { all, one, type Statements } from "./statements.ts";

/**
 * What one call may look at, so that commits do not wait: sessions, and the events of each in the
 * index (of one session more than that, at most).
 */
const costMax = 20_000;
const pageRows = 64;

interface RestingRow {
  readonly id: number;
  readonly name: SessionId;
  readonly touched_at_ms: number;
  readonly rest_at_ms: number;
}

type Rest = 0 | 1 | 2;

interface Question {
  readonly run: Statements;
  readonly limits: RestLimits;
  readonly windowMs: number;
  readonly nowMs: number;
}

/**
 * Within a transaction of the caller.
 *
 * @returns the longest waiting first
 */
export function restedSessions(question: Question): readonly SessionId[] {
  const { run, limits, windowMs, nowMs } = question;
  const rested: { readonly name: SessionId; readonly endMs: number }[] = [];
  const queues = ([0, 1, 2] as const).map((rest) => queueOf(question, rest));
  let cost = 0;
  while (rested.length < limits.sessions && cost < costMax) {
    const queue = earliest(queues);
    const row = queue?.take();
    if (queue === undefined || row === undefined) break;
    const newest = queue.rest === 0 ? undefined : newestEvent(run, row.id);
    cost += 1 + (newest?.events ?? 0);
    const rest = { touchedAtMs: row.touched_at_ms, isUsed: queue.rest !== 0 };
    const endMs = restEndMs(rest, () => newest?.atMs, limits, windowMs);
    if (endMs <= nowMs) rested.push({ name: row.name, endMs });
    else putAside(question, row, newest?.atMs);
  }
  return rested.sort((a, b) => a.endMs - b.endMs).map(({ name }) => name);
}

/** [C S-02] Its newest event is to be waited for; or it may rest longer than when it was put aside. */
function putAside(
  { run, windowMs, nowMs }: Question,
  row: RestingRow,
  newestAtMs: number | undefined,
): void {
  if (newestAtMs !== undefined && newestAtMs + windowMs > nowMs) {
    run.setRest.run(2, newestAtMs, row.id);
  } else {
    run.setRest.run(1, row.touched_at_ms, row.id);
  }
}

/** The newest event that a session retains, and how many it retains. */
function newestEvent(run: Statements, session: number): { events: number; atMs?: number } {
  const found = one<{ events: number; seq: number | null }>(run.newestEvent, session);
  const at = found?.seq && one<{ at_ms: number }>(run.eventTime, found.seq);
  return { events: found?.events ?? 0, ...(at ? { atMs: at.at_ms } : {}) };
}

interface Queue {
  readonly rest: Rest;
  /** When the next one may have rested long enough; Infinity for none. */
  nextMs(): number;
  take(): RestingRow | undefined;
}

function queueOf({ run, limits, windowMs, nowMs }: Question, rest: Rest): Queue {
  const { idleTtlMs, unusedTtlMs, touchLagMs } = limits;
  const waitMs = [unusedTtlMs, idleTtlMs + touchLagMs, windowMs][rest] ?? 0;
  let rows: RestingRow[] = [];
  let isLastPage = false;
  let after = { rest_at_ms: -1, id: 0 };
  const next = () => {
    if (rows.length === 0 && !isLastPage) {
      const { rest_at_ms, id } = after;
      rows = all(run.resting, rest, nowMs - waitMs, rest_at_ms, id, pageRows);
      isLastPage = rows.length < pageRows;
      after = rows.at(-1) ?? after;
    }
    return rows[0];
  };
  return {
    rest,
    nextMs: () => (next()?.rest_at_ms ?? Number.POSITIVE_INFINITY) + waitMs,
    take: () => {
      next();
      return rows.shift();
    },
  };
}

function earliest(queues: readonly Queue[]): Queue | undefined {
  let first: Queue | undefined;
  for (const queue of queues) {
    if (queue.nextMs() < (first?.nextMs() ?? Number.POSITIVE_INFINITY)) first = queue;
  }
  return first;
}
