/**
 * A file with very many sessions: opening it, and finding those at rest, costs what a small one does.
 *
 * Compared with a small file in the same run, the best of several alternating rounds each, by ratios
 * far from what is measured (2 to 6, and 1): no figure of a machine is in it.
 */
import { DatabaseSync } from "node:sqlite";
import type { EventLog, RestLimits, SessionId } from "@holdfast/log";
import { creation, notification, opening, openScene, response } from "@holdfast/log/acceptance";
import { disposeAll, fakeClock, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type FilePlace, filePlace, sqliteHarness } from "./places.ts";

afterEach(disposeAll);

const sessionCount = 100_000;
const rounds = 5;

/** None has rested for so long but the two that were never used. */
const limits: RestLimits = { idleTtlMs: 60_000, unusedTtlMs: 100, touchLagMs: 0, sessions: 100 };

const settings = () => ({
  retention: { windowMs: 600_000, maxEvents: 1_000, maxBytes: 1_000_000 },
  idempotencyTtlMs: 600_000,
  clock: fakeClock(),
});

test(`${verifies("S-07")}start-up does not grow with the sessions, nor does looking for those at rest`, async () => {
  const [small, large] = [await written(), await written()];
  multiply(large.file);
  const times = { small: { open: [], rest: [] }, large: { open: [], rest: [] } } as Times;
  for (let round = 0; round < rounds; round += 1) {
    for (const [size, place] of [
      ["small", small],
      ["large", large],
    ] as const) {
      const log = place.log();
      times[size].open.push(await timed(() => log.open(settings())));
      expect(await log.liveSessions()).toBe(size === "small" ? 12 : sessionCount + 12);
      times[size].rest.push(await timed(() => tenTimesRested(log)));
      expect(await log.running("used 3" as SessionId)).toMatchObject([{ stream: 2 }]);
      await log.close();
    }
  }
  const ratio = (what: "open" | "rest") =>
    Math.min(...times.large[what]) / Math.min(...times.small[what]);
  expect(ratio("open")).toBeLessThan(25);
  expect(ratio("rest")).toBeLessThan(20);
});

type Times = Record<"small" | "large", Record<"open" | "rest", number[]>>;

/** Twelve sessions with finished and unfinished streams; two were never used. */
async function written(): Promise<FilePlace> {
  const place = await filePlace();
  const log = place.log();
  const { clock, ...others } = settings();
  await log.open({ clock, ...others });
  for (let n = 0; n < 12; n += 1) {
    const name = n < 2 ? `unused ${n}` : `used ${n}`;
    const use = n < 2 ? [] : [{ op: "touch", isUsed: true } as const];
    const ops = [creation(name), ...use, opening(1), opening(2), response(1, "r")];
    await log.commit(name as SessionId, { fence: 0, ops });
  }
  clock.advance(1_000);
  await log.close();
  return place;
}

/** Rows as the log writes them, without the time that 100,000 commits take. */
function multiply(file: string): void {
  const db = new DatabaseSync(file);
  const numbers = `with recursive numbers (n) as (select 1 union all
    select n + 1 from numbers where n < ${sessionCount})`;
  const columns = (table: string, changed: Readonly<Record<string, string>>) =>
    db
      .prepare(`select name from pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => changed[String(name)] ?? `${table}.${name}`)
      .join(", ");
  const copy = (table: string, of: string, changed: Readonly<Record<string, string>>) =>
    db.exec(`${numbers} insert into ${table} select ${columns(table, changed)} from numbers
      join ${table} on ${of} = (select id from sessions where name = 'used 3') where true`);
  const session = "1000 + n";
  db.exec("begin");
  copy("streams", "session", { id: "100000 + 10 * n + stream", session });
  copy("events", "session", { seq: "1000000 + n", session });
  copy("sessions", "sessions.id", {
    id: session,
    name: "'copy ' || n",
    principal: "'owner ' || (n % 100)",
    data: `'${"x".repeat(200)}'`,
  });
  db.exec("commit");
  db.close();
}

async function tenTimesRested(log: EventLog): Promise<void> {
  for (let i = 0; i < 10; i += 1) {
    expect([...(await log.rested(limits))].sort()).toEqual(["unused 0", "unused 1"]);
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

test(`${verifies("X-05")}a session with very many finished streams tells what runs at once`, async () => {
  const scene = await openScene(sqliteHarness(), { maxEvents: 100_000, maxBytes: 100_000_000 });
  const session = await scene.create("a");
  const finish = async (from: number, to: number) => {
    for (let stream = from; stream <= to; stream += 500) {
      const numbers = Array.from({ length: 500 }, (_, i) => stream + i);
      await scene.commit(session, ...numbers.flatMap((n) => [opening(n), response(n, "r")]));
    }
  };
  await scene.open(session, 1);
  await finish(2, 501);
  await scene.commit(session, notification(0, "n"));
  const few = await soonest();
  await finish(502, 20_001);
  await scene.open(session, 50_000);
  const many = await soonest();
  expect((await scene.log.running(session)).map(({ stream }) => stream)).toEqual([1, 50_000]);
  expect(many / few).toBeLessThan(20);

  async function soonest(): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await scene.reopen();
      times.push(await timed(() => scene.log.running(session)));
    }
    return Math.min(...times);
  }
});
