/** What a server of Redis can do to a log: stop, start anew with or without its data, forget a key. */
import type { EventPlace } from "@holdfast/contract";
import type { Commit, EventLog, Op, ReadLimit, SessionId } from "@holdfast/log";
import { creation, notification, numbered, opening, roomy } from "@holdfast/log/acceptance";
import { type RedisLogOptions, redisLog } from "@holdfast/log-redis";
import {
  disposeAll,
  onDispose,
  type RedisServer,
  requireService,
  startRedis,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { withClient } from "./places.ts";

afterEach(disposeAll);

const all: ReadLimit = { events: 1_000, bytes: 1_000_000 };
const session = "a" as SessionId;
const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

interface Running {
  readonly log: EventLog;
  readonly warnings: string[];
  /** Places of the events of stream 1, from the one before the first. */
  readonly places: EventPlace[];
}

async function openLog(url: string, options: RedisLogOptions = {}): Promise<Running> {
  const warnings: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  const log = redisLog(url, { timeoutMs: 1_000, onWarning, ...options });
  await log.open({ retention: roomy, idempotencyTtlMs: 60_000, clock, leaseMs: 600_000 });
  onDispose(() => log.close());
  return { log, warnings, places: [] };
}

/** A session with 50 events on stream 1, its owner's fence is 1. */
async function fill(running: Running): Promise<void> {
  const { log, places } = running;
  const outcome = await commit(log, 0, creation("a"), opening(1));
  places.push(...outcome.begun.filter(({ stream }) => stream === 1));
  places.push(...(await commit(log, 1, ...notes(1, 50))).appended);
}

async function commit(log: EventLog, fence: number, ...ops: Op[]) {
  const one: Commit = { id: `${Math.random()}`, fence, ops };
  const outcome = await untilBack(() => log.commit(session, one));
  if (outcome.kind !== "committed") throw new Error(`not committed but ${outcome.kind}`);
  return outcome;
}

/** As the runtime does it: again while the store is out of reach. Each try waits for it by itself. */
function untilBack<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const again = (error: { readonly code?: string }): Promise<Answer> => {
    if (error.code !== "ERR_LOG_UNAVAILABLE") throw error;
    return ask().catch(again);
  };
  return within(ask().catch(again), "the store");
}

function notes(from: number, to: number): Op[] {
  return numbered(from, to).map((text) => notification(1, text));
}

const read = (log: EventLog, place: EventPlace | undefined) => {
  if (place === undefined) throw new Error("no place");
  return untilBack(() => log.read(session, place, all));
};

async function texts(log: EventLog, place: EventPlace | undefined): Promise<readonly string[]> {
  const outcome = await read(log, place);
  if (outcome.kind !== "events") throw new Error(outcome.kind);
  return outcome.events.map(({ text }) => text);
}

const inFile = ["--appendonly", "yes", "--appendfsync", "everysec"];

describe.skipIf(!requireService("redis-server"))("a server of Redis that", () => {
  test(`${verifies("N-05", "S-07", "c042")}is started anew with all that its only node was told goes on, cursors too`, async () => {
    const server = await startRedis(inFile);
    const { log, places, warnings } = await opened(server);
    const before = places[20];
    await server.process.kill("SIGTERM");
    await server.start();
    expect(await texts(log, before)).toEqual(numbered(21, 50));
    await commit(log, 1, ...notes(51, 52));
    expect(await texts(log, before)).toEqual(numbered(21, 52));
    expect(warnings).toEqual([]);
  });

  test(`${verifies("R-08", "E-02", "c042")}is started anew when nobody was there: every cursor from before is refused, for ever`, async () => {
    const server = await startRedis(inFile);
    const first = await opened(server);
    await first.log.close();
    await server.process.kill("SIGKILL");
    await server.start();
    const { log } = await openLog(server.url);
    for (let i = 0; i < 2; i += 1) {
      for (const place of first.places) {
        const outcome = await read(log, place);
        expect(outcome).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
        if (outcome.kind !== "gap") return;
        // What it names is honoured: nothing that is left is lost.
        expect(await texts(log, outcome.gap.oldest)).toEqual(numbered(place.position + 1, 50));
      }
    }
  });

  test(`${verifies("N-05", "E-02")}syncs each write goes on, whoever was there`, async () => {
    const server = await startRedis(["--appendonly", "yes", "--appendfsync", "always"]);
    const first = await opened(server);
    expect(first.log.durability).toBe("power");
    await first.log.close();
    await server.process.kill("SIGKILL");
    await server.start();
    const { log } = await openLog(server.url);
    expect(await texts(log, first.places[20])).toEqual(numbered(21, 50));
  });

  test(`${verifies("R-08", "E-02", "c042")}comes back older than what a node was told: refused, also where the head has passed again`, async () => {
    const server = await startRedis();
    const running = await opened(server);
    const { log, places, warnings } = running;
    await withClient(server.url, (client) => client.sendCommand(["SAVE"]));
    const lost = (await commit(log, 1, ...notes(51, 60))).appended;
    await server.process.kill("SIGKILL");
    await server.start();
    for (const place of [...places, ...lost]) {
      expect(await read(log, place)).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
    }
    await commit(log, 1, ...numbered(51, 70).map((text) => notification(1, `other ${text}`)));
    for (const place of [...places, ...lost]) {
      expect(await read(log, place)).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
    }
    expect(warnings.join()).toMatch(/started anew/);
  });

  test(`${verifies("R-08", "S-04", "c042")}is started anew without its data, or flushed: no session, no silence`, async () => {
    const server = await startRedis();
    const { log, places } = await opened(server);
    await server.process.kill("SIGKILL");
    await server.start();
    expect(await read(log, places[20])).toEqual({ kind: "absent" });
    const outcome = await log.commit(session, { fence: 1, ops: notes(51, 51) });
    expect(outcome).toEqual({ kind: "absent" });
    expect(await log.shared?.renew()).toBe(false);
    await log.shared?.rejoin();
    const again = await commit(log, 0, creation("a"), opening(1));
    await withClient(server.url, (client) => client.sendCommand(["FLUSHALL"]));
    expect(await read(log, again.begun[1])).toEqual({ kind: "absent" });
    await commit(log, 0, creation("a"), opening(1));
    // An id of the flushed one is no id of its namesake.
    expect(await read(log, places[20])).toMatchObject({ kind: "gap" });
  });

  test(`${verifies("R-08", "R-04", "c042")}drops the key of the events: a gap up to there, live ones told at the next event`, async () => {
    const server = await startRedis(inFile);
    const { log, places } = await opened(server);
    const dropped = await withClient(server.url, async (client) => {
      const keys = await client.keys("*:events");
      return client.del(keys);
    });
    expect(dropped).toBe(1);
    expect(await read(log, places[20])).toMatchObject({ kind: "gap", gap: { lostEvents: 30 } });
    // Who had seen everything has lost nothing, and goes on.
    expect(await texts(log, places[50])).toEqual([]);
    await commit(log, 1, ...notes(51, 53));
    expect(await texts(log, places[50])).toEqual(numbered(51, 53));
    expect(await read(log, places[20])).toMatchObject({
      kind: "gap",
      gap: { oldest: { position: 50 }, lostEvents: 30 },
    });
    await withClient(server.url, async (client) => client.del(await client.keys("*:streams")));
    expect(await read(log, places[50])).toEqual({ kind: "absent" });
    const outcome = await log.commit(session, { fence: 1, ops: notes(54, 54) });
    expect(outcome).toEqual({ kind: "absent" });
  });

  test(`${verifies("N-05", "c043")}stops answering: refused by name within the time that was set, and back by itself`, async () => {
    const server = await startRedis(inFile);
    const { log, places } = await opened(server);
    server.process.signal("SIGSTOP");
    const late: Commit = { id: "late", fence: 1, ops: notes(51, 51) };
    const away = { name: "LogError", code: "ERR_LOG_UNAVAILABLE" };
    const asked = [log.commit(session, late), log.session(session), log.liveSessions()];
    for (const one of await Promise.allSettled(asked)) {
      expect(one).toMatchObject({ status: "rejected", reason: away });
    }
    server.process.signal("SIGCONT");
    // What it reads from its socket only now was given up, and was repeated: once it counts.
    const outcome = await untilBack(() => log.commit(session, late));
    expect(outcome).toMatchObject({ kind: "committed", appended: [{ position: 51 }] });
    expect(await texts(log, places[50])).toEqual(["n51"]);
    await commit(log, 1, ...notes(52, 52));
    expect(await texts(log, places[50])).toEqual(["n51", "n52"]);
  });
});

async function opened(server: RedisServer): Promise<Running> {
  const running = await openLog(server.url);
  await fill(running);
  running.warnings.length = 0;
  return running;
}
