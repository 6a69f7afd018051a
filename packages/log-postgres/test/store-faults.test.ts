/** The way to the store is cut, swallows everything, or loses replies; the store itself goes down. */
import type { CommitOutcome, EventLog, SessionId } from "@holdfast/log";
import {
  creation,
  idempotencyTtlMs,
  notification,
  numbered,
  opening,
  roomy,
  unreachable,
} from "@holdfast/log/acceptance";
import { type PostgresLogOptions, postgresLog } from "@holdfast/log-postgres";
import {
  disposeAll,
  type FaultProxy,
  faultProxy,
  onDispose,
  postgresUrl,
  requirePostgres,
  seededRandom,
  signal,
  startPostgres,
  testSeed,
  verifies,
} from "@holdfast/testkit";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { postgresHarness, type SchemaPlace, schemaPlace } from "./places.ts";

afterEach(disposeAll);

const database = await postgresUrl();
const impatient: PostgresLogOptions = { timeoutMs: 1_000 };
const away = { name: "LogError", code: "ERR_LOG_UNAVAILABLE" };

interface ProxiedPlace extends SchemaPlace {
  /** One for each log, in their order. */
  readonly proxies: readonly FaultProxy[];
  readonly proxyOf: (log: EventLog) => FaultProxy;
}

async function proxiedPlace(url: string, options: PostgresLogOptions): Promise<ProxiedPlace> {
  const place = await schemaPlace(url);
  const { hostname: host, port } = new URL(url);
  const target = { host, port: Number(port || 5432) };
  const proxies = [await faultProxy({ target }), await faultProxy({ target })];
  const logs: EventLog[] = [];
  const log = () => {
    const through = new URL(place.url);
    through.port = `${proxies[logs.length]?.port}`;
    const made = postgresLog(through.href, options);
    logs.push(made);
    return made;
  };
  const proxyOf = (one: EventLog) => proxies[logs.indexOf(one)] as FaultProxy;
  return { ...place, proxies, log, proxyOf };
}

async function openLog(log: EventLog): Promise<void> {
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const retention = { ...roomy, windowMs: 3_600_000, maxEvents: 100_000 };
  await log.open({ retention, idempotencyTtlMs, clock });
  onDispose(() => log.close());
}

/** A session of the log with a running call on stream 1. */
async function session(log: EventLog, name: string): Promise<SessionId> {
  const id = name as SessionId;
  await log.commit(id, { fence: 0, ops: [creation(name), opening(1)] });
  return id;
}

/** Repeat a commit under its id, as the session runtime does, until the log has taken it. */
async function persist(
  log: EventLog,
  id: SessionId,
  attempt: string,
  text: string,
): Promise<CommitOutcome> {
  for (;;) {
    try {
      return await log.commit(id, { id: attempt, fence: 1, ops: [notification(1, text)] });
    } catch (error) {
      expect(error).toMatchObject(away);
    }
  }
}

async function textsOf(log: EventLog, id: SessionId): Promise<readonly string[]> {
  const state = await log.stream(id, 1);
  const tag = (await log.session(id))?.tag ?? "";
  const incarnation = state?.runs[0]?.incarnation ?? "";
  const cursor = { tag, stream: 1, position: 0, incarnation };
  const outcome = await log.read(id, cursor, { events: 100_000, bytes: 1e9 });
  return outcome.kind === "events" ? outcome.events.map(({ text }) => text) : [outcome.kind];
}

describe.skipIf(database === undefined)("the way to the store", () => {
  const url = database ?? "";
  const harness = postgresHarness(url);
  const shared = harness.shared;
  if (shared === undefined) throw new Error("the log is shared");
  unreachable<ProxiedPlace>(
    { place: () => proxiedPlace(url, impatient), shared },
    async ({ proxyOf }, log) => {
      const proxy = proxyOf(log);
      proxy.blackhole(true);
      return async () => {
        proxy.heal();
        proxy.cutAll("rst");
      };
    },
  );

  test(`${verifies("c043", "N-05")}cut at any moment: each commit takes effect once`, async () => {
    const random = seededRandom(testSeed("cut at any moment"));
    const place = await proxiedPlace(url, {});
    const log = place.log();
    await openLog(log);
    const id = await session(log, "a");
    const texts = numbered(1, 300);
    let cuts = 0;
    const lane = async (first: number) => {
      for (let n = first; n < texts.length; n += 10) {
        const text = texts[n] ?? "";
        await persist(log, id, text, text);
        if (!random.chance(0.05)) continue;
        cuts += place.proxyOf(log).cutAll(random.pick(["rst", "fin", "half-close"] as const));
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, first) => lane(first)));
    expect(cuts).toBeGreaterThan(0);
    expect((await textsOf(log, id)).toSorted()).toEqual(texts.toSorted());
  });

  test(`${verifies("c043")}a commit whose reply is lost while the store is still at it takes effect once`, async () => {
    const place = await proxiedPlace(url, { timeoutMs: 20_000 });
    const log = place.log();
    await openLog(log);
    const id = await session(log, "a");
    const other = new Client(url);
    await other.connect();
    const waiting = async (many: number) => {
      for (let found = 0; found < many; ) {
        const [row] = await place.run(
          `select count(*)::int as many from pg_locks l join pg_stat_activity a using (pid)
            where not l.granted and a.query like '%' || $1 || '%'`,
          [place.schema],
        );
        found = Number(row?.many);
      }
    };
    await other.query("begin");
    await other.query(`select from ${place.schema}.sessions for update`);
    const commit = persist(log, id, "once", "once");
    await waiting(1);
    place.proxyOf(log).cutAll("rst");
    // Sent again, it waits behind the first, which nobody will hear of.
    await waiting(2);
    await other.query("commit");
    await other.end();
    expect(await commit).toMatchObject({ kind: "committed", appended: [{ position: 1 }] });
    expect(await log.commit(id, { id: "once", fence: 1, ops: [] })).toEqual(await commit);
    expect(await textsOf(log, id)).toEqual(["once"]);
  });

  test(`${verifies("N-05")}rejected because the reply was lost, and repeated later: still once, also of many`, async () => {
    const place = await proxiedPlace(url, impatient);
    const log = place.log();
    await openLog(log);
    const id = await session(log, "a");
    // More in one write than attempts are remembered of a session otherwise.
    const texts = numbered(1, 40);
    const proxy = place.proxyOf(log);
    await place.run(`create function holdfast.slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(2); return null; end $$;
      create constraint trigger slow after insert on holdfast.events deferrable initially deferred
      for each row when (new.position = 1) execute function holdfast.slow()`);
    const first = texts.map((text) =>
      log.commit(id, { id: text, fence: 1, ops: [notification(1, text)] }),
    );
    // The store commits when nobody waits for it any more.
    for (const one of await Promise.allSettled(first)) expect(one).toMatchObject({ reason: away });
    proxy.cutAll("rst");
    await Promise.all(texts.map((text) => persist(log, id, text, text)));
    expect(await textsOf(log, id)).toEqual(texts);
  });
});

describe.skipIf(!requirePostgres())("a store that goes down", () => {
  test.each(["fast", "immediate"] as const)(
    `${verifies("N-05", "E-03", "R-08")}stopped (%s) and started again under load: nothing acknowledged is lost, no cursor refused, service returns`,
    async (how) => {
      const server = await startPostgres();
      const place = await schemaPlace(server.url, {}, false);
      const [log, reader] = [postgresLog(place.url), postgresLog(place.url)];
      await openLog(log);
      await openLog(reader);
      const id = await session(log, "a");
      const [before] = await commitTo(log, id, "before");
      let woken = 0;
      reader.follow(id, 1, () => {
        woken += 1;
      });
      const texts = numbered(1, 200);
      let written = 0;
      const started = signal<void>("half of them");
      const half = started.next();
      const writing = (async () => {
        for (const text of texts) {
          await persist(log, id, text, text);
          written += 1;
          if (written === texts.length / 2) started.emit();
        }
      })();
      await half;
      await server.stop(how);
      await server.start();
      await writing;
      expect(await textsOf(reader, id)).toEqual(["before", ...texts]);
      expect(await reader.read(id, before!, { events: 1, bytes: 1 })).toMatchObject({
        kind: "events",
        events: [{ text: "n1" }],
      });
      expect(woken).toBeGreaterThan(0);
    },
  );

  test(`${verifies("R-08")}with fsync off, a restart refuses what was there before, on every node, for ever`, async () => {
    const server = await startPostgres({ fsync: "off" });
    const place = await schemaPlace(server.url, {}, false);
    const warnings: string[] = [];
    const log = postgresLog(place.url, { onWarning: (sentence) => void warnings.push(sentence) });
    const other = postgresLog(place.url);
    await openLog(log);
    await openLog(other);
    expect(warnings).toEqual([expect.stringMatching(/^fsync is off: /)]);
    expect(log.durability).toBe("process");
    await expectLoss([log, other], async () => {
      await server.stop("fast");
      await server.start();
    });
  });

  test(`${verifies("R-08", "E-02")}a promoted standby may lack the newest: cursors from before are refused`, async () => {
    const server = await startPostgres();
    const place = await schemaPlace(server.url, {}, false);
    const [log, other] = [postgresLog(place.url), postgresLog(place.url)];
    await openLog(log);
    await openLog(other);
    expect(log.durability).toBe("power");
    await expectLoss([log, other], async () => {
      await server.stop("fast");
      await server.startAsStandby();
      // While it is none but a standby, everything is refused by name.
      await expect(log.liveSessions()).rejects.toMatchObject({
        ...away,
        hint: expect.stringContaining("standby"),
      });
      await place.run("select pg_promote(true)");
    });
  });

  test(`${verifies("R-08")}older rows put back under running nodes are a loss`, async () => {
    const server = await startPostgres();
    const place = await schemaPlace(server.url, {}, false);
    const [log, other] = [postgresLog(place.url), postgresLog(place.url)];
    await openLog(log);
    await openLog(other);
    const tables = ["sessions", "streams", "events"];
    const copy = (table: string) => `create table holdfast.${table}_copy as
      table holdfast.${table};`;
    const back = (table: string) => `delete from holdfast.${table};
      insert into holdfast.${table} ${table === "sessions" ? "overriding system value" : ""}
      select * from holdfast.${table}_copy;`;
    const id = await session(log, "a");
    await commitTo(log, id, "kept");
    await place.run(tables.map(copy).join("\n"));
    const [lost] = await commitTo(log, id, "lost");
    await place.run(`begin; ${tables.map(back).join("\n")} commit`);
    const [next] = await commitTo(log, id, "in its place");
    expect(next?.position).toBe(lost?.position);
    for (const one of [log, other]) {
      expect(await one.read(id, lost!, { events: 9, bytes: 999 })).toMatchObject({
        kind: "gap",
        gap: { lostEvents: null },
      });
    }
  });
});

async function commitTo(log: EventLog, id: SessionId, ...texts: string[]) {
  const ops = texts.map((text) => notification(1, text));
  const outcome = await log.commit(id, { fence: 1, ops });
  if (outcome.kind !== "committed") throw new Error(`not committed but ${outcome.kind}`);
  return outcome.appended;
}

/** What befalls the store makes every cursor from before a gap, on each log; what follows is good. */
async function expectLoss(logs: readonly EventLog[], befall: () => Promise<void>): Promise<void> {
  const [log] = logs as [EventLog];
  const id = await session(log, "a");
  const before = await commitTo(log, id, ...numbered(1, 3));
  await befall();
  const limit = { events: 9, bytes: 999 };
  for (let round = 0; round < 2; round += 1) {
    for (const one of logs) {
      for (const cursor of before) {
        const outcome = await one.read(id, cursor, limit);
        expect(outcome).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
        if (outcome.kind !== "gap") continue;
        // [C R-04] what the gap names is honoured, and nothing is shown twice.
        expect(outcome.gap.oldest.position).toBe(cursor.position);
        expect((await one.read(id, outcome.gap.oldest, limit)).kind).toBe("events");
      }
    }
    const [after] = await commitTo(log, id, `after ${round}`);
    for (const one of logs) {
      expect(await one.read(id, after!, limit)).toEqual({ kind: "events", events: [] });
    }
  }
}
