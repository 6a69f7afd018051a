/** How long a client tries, what it does when it gives up, and how it comes back [C K-04] [C K-05]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { ScriptedRequest, ScriptedStream } from "./scripted-fetch.ts";
import { rest } from "./virtual-time.ts";
import { logMessage, openWorld, resultFor, type World } from "./world.ts";

const minute = 60_000;
const five = { maxAttempts: 5 };

/** A call whose stream has begun: its first event has the id `p0`. */
async function begunCall(world: World, id: number) {
  world.call(id);
  const post = await world.next();
  const stream = post.stream();
  stream.write("id: p0\ndata: \n\n");
  await rest();
  return { post, stream };
}

/** Answer everything in this way, for so long; what was asked is returned. */
async function during(
  world: World,
  ms: number,
  answer: (request: ScriptedRequest, at: number) => void,
): Promise<ScriptedRequest[]> {
  const asked: ScriptedRequest[] = [];
  const until = world.time.nowMs() + ms;
  for (;;) {
    await rest();
    for (const request of world.server.open()) {
      answer(request, asked.push(request));
      await rest();
    }
    const nextMs = world.time.nextMs() ?? Number.POSITIVE_INFINITY;
    if (nextMs > until) break;
    await world.time.pass(nextMs - world.time.nowMs());
  }
  await world.time.pass(until - world.time.nowMs());
  return asked;
}

describe("the budget of a stream", () => {
  test(`${verifies("K-04", "K-05", "c025")}is used up by a server that accepts and drops at once`, async () => {
    const world = await openWorld({ reconnect: five });
    await world.connect();
    const { stream } = await begunCall(world, 1);
    stream.end();
    const gets = await during(world, minute - 1, (get) => {
      const again = get.stream();
      again.write("id: p0\ndata: \n\n");
      again.end();
    });
    expect(gets).toHaveLength(5);
    expect(gets.every(({ headers }) => headers["last-event-id"] === "p0")).toBe(true);
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "unreachable" } } }]);
  });

  test(`${verifies("K-04", "c025")}is whole again after each new event`, async () => {
    const world = await openWorld({ reconnect: five });
    await world.connect();
    const { post, stream } = await begunCall(world, 1);
    stream.reset();
    await during(world, 10 * minute, (get, at) => {
      const again = get.stream();
      again.event(at <= 20 ? logMessage(at) : resultFor(post, { at }), `p${at}`);
      again.end();
    });
    expect(world.answersTo(1)).toMatchObject([{ result: { at: 21 } }]);
    expect(world.told.messages.filter(({ method }) => method !== undefined)).toHaveLength(20);
  });

  test(`${verifies("K-04")}is whole again after a stream lived for ten seconds, not before`, async () => {
    for (const [livedMs, attempts] of [
      [9_999, 5],
      [10_000, 20],
    ] as const) {
      const world = await openWorld({ reconnect: { ...five, maxElapsedMs: 10 * minute } });
      await world.connect();
      const { stream } = await begunCall(world, 1);
      stream.reset();
      let asked = 0;
      for (; asked < 20 && world.told.unknown.length === 0; asked += 1) {
        await world.time.toNext();
        const again = (await world.next()).stream();
        await world.time.pass(livedMs);
        again.reset();
        await rest();
      }
      expect(asked).toBe(attempts);
    }
  });

  test(`${verifies("K-04")}is not used by ends that retry: announced, and keeps their time`, async () => {
    const world = await openWorld({ reconnect: { maxAttempts: 1 } });
    await world.connect();
    const { post, stream } = await begunCall(world, 1);
    stream.write("retry: 3000\n\n");
    stream.end();
    for (let poll = 0; poll < 30; poll += 1) {
      expect(await world.time.toNext()).toBe(3_000);
      const again = (await world.next()).stream();
      again.write(poll === 29 ? "" : "retry: 3000\n\n");
      if (poll === 29) again.event(resultFor(post), "p1");
      again.end();
    }
    await world.time.pass(0);
    expect(world.answersTo(1)).toHaveLength(1);
  });

  test.each([
    ["retry: 0", "retry: 0\n\n", 250],
    ["retry: 10^12", `retry: ${10 ** 12}\n\n`, 300_000],
  ])(`${verifies("K-04")}%s is clamped`, async (_name, block, delayMs) => {
    const world = await openWorld();
    await world.connect();
    const { stream } = await begunCall(world, 1);
    stream.write(block);
    stream.end();
    expect(await world.time.toNext()).toBe(delayMs);
  });

  test(`${verifies("K-04")}Retry-After of a 503 is a floor`, async () => {
    const world = await openWorld();
    await world.connect();
    const { post, stream } = await begunCall(world, 1);
    stream.reset();
    await world.time.pass(1_000);
    (await world.next()).respond(503, "<html>", { "retry-after": "20" });
    await world.time.pass(19_999);
    expect(await world.quiet()).toBe(true);
    await world.time.pass(1);
    (await world.next()).stream().event(resultFor(post), "p1");
    await world.time.pass(0);
    expect(world.answersTo(1)).toHaveLength(1);
  });
});

describe("a parked transport", () => {
  async function parkedWorld(): Promise<World & { readonly standalone: ScriptedStream }> {
    const world = await openWorld({ reconnect: five, internals: { probeMs: minute } });
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    standalone.event(logMessage("first"), "g1");
    const { stream } = await begunCall(world, 1);
    stream.reset();
    standalone.reset();
    await during(world, 40_000, (request) => request.respond(503, "<html>"));
    return { ...world, standalone };
  }

  test(`${verifies("K-05", "c026")}ends its calls, keeps session and cursor, and says so`, async () => {
    const world = await parkedWorld();
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "unreachable" } } }]);
    expect(world.told.parked).toEqual([
      { why: "unreachable", sessionId: "S1", nextProbeMs: minute },
    ]);
    expect(world.transport.sessionId).toBe("S1");
    expect(world.told.ended).toEqual([]);
  });

  test(`${verifies("K-05", "c026")}comes back by the next call, with the same session and cursors`, async () => {
    const world = await parkedWorld();
    world.call(2);
    const post = await world.next();
    expect(post.headers["mcp-session-id"]).toBe("S1");
    post.respond(200, resultFor(post, { back: true }));
    await rest();
    expect(world.answersTo(2)).toMatchObject([{ result: { back: true } }]);
    expect(world.told.resumed).toBe(1);
    const cursors = world.server.open().map(({ headers }) => headers["last-event-id"]);
    expect(cursors.toSorted()).toEqual(["g1", "p0"]);
  });

  test(`${verifies("K-05", "c026")}comes back by its probe; what was unknown may be known after all`, async () => {
    const world = await parkedWorld();
    await world.time.toNext();
    const probe = await world.next();
    expect([probe.method, probe.headers["last-event-id"]]).toEqual(["GET", "g1"]);
    probe.stream();
    await rest();
    expect(world.told.resumed).toBe(1);
    const late = await world.next();
    expect(late.headers["last-event-id"]).toBe("p0");
    const [first] = world.server.requests.filter(({ body }) => body.method === "tools/call");
    late.stream().event(resultFor(first as ScriptedRequest, { paid: 1 }), "p1");
    await rest();
    // Told once; the rest is news for who asks.
    expect(world.answersTo(1)).toHaveLength(1);
    const [recovered] = await world.transport.recovered();
    expect(recovered).toMatchObject({ id: 1, method: "tools/call", name: "charge" });
    expect(await recovered?.outcome()).toEqual({ kind: "result", result: { paid: 1 } });
    expect(await world.transport.recovered()).toEqual([]);
  });

  test(`${verifies("K-05")}goes on probing, slowly, for as long as it takes`, async () => {
    const world = await parkedWorld();
    const probes = await during(world, 60 * minute, (request) => request.respond(503));
    expect(probes.length).toBeGreaterThan(55);
    expect(probes.length).toBeLessThan(65);
    expect(world.told.parked).toHaveLength(1);
  });

  test(`${verifies("K-05")}probes by ping where there is no standalone stream`, async () => {
    const world = await openWorld({ reconnect: five, internals: { probeMs: minute } });
    await world.connect();
    const { stream } = await begunCall(world, 1);
    stream.reset();
    await during(world, 40_000, (request) => request.die());
    expect(world.told.parked).toHaveLength(1);
    await world.time.toNext();
    const probe = await world.next();
    expect(probe.body.method).toBe("ping");
    probe.respond(200, resultFor(probe, {}));
    await rest();
    expect(world.told.resumed).toBe(1);
  });

  test(`${verifies("K-05")}gives its probe up when it is closed`, async () => {
    const world = await openWorld({ reconnect: five, internals: { probeMs: minute } });
    await world.connect();
    (await begunCall(world, 1)).stream.reset();
    await during(world, 40_000, (request) => request.die());
    await world.time.toNext();
    const probe = await world.next();
    await world.transport.close();
    await rest();
    expect([probe.isAborted(), world.time.nextMs()]).toEqual([true, undefined]);
  });

  test(`${verifies("c026")}ten outages of one second each never park it`, async () => {
    const world = await openWorld({ reconnect: five });
    await world.connect();
    const { post, stream } = await begunCall(world, 1);
    let open = stream;
    for (let outage = 0; outage < 10; outage += 1) {
      open.event(logMessage(outage), `p${outage + 1}`);
      await rest();
      open.reset();
      const sinceMs = world.time.nowMs();
      for (;;) {
        await world.time.toNext();
        const get = await world.next();
        if (world.time.nowMs() - sinceMs >= 1_000) {
          open = get.stream();
          break;
        }
        get.die();
        await rest();
      }
      await world.time.pass(5_000);
    }
    open.event(resultFor(post), "p99");
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ result: {} }]);
    expect(world.told.parked).toEqual([]);
  });

  test(`${verifies("K-05")}a call that another stream outlives ends alone`, async () => {
    const world = await openWorld({ reconnect: five });
    await world.connect({ isListening: true });
    (await world.next()).stream();
    const { stream } = await begunCall(world, 1);
    stream.reset();
    await during(world, 40_000, (request) => request.respond(502, "<html>"));
    expect(world.told.unknown).toHaveLength(1);
    expect(world.told.parked).toEqual([]);
  });
});
