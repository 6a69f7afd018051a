/** Chapter: what an idle stream says, and what keeps middleware from holding it back. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { faultProxy } from "../fault-proxy.ts";
import { seededRandom, testSeed } from "../seeded-random.ts";
import type { SseItem } from "../sse-reading.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { note, numbersIn, openCall, range, sayNotes } from "./traffic.ts";

export function heartbeatsChapter(open: OpenBench): void {
  test(`${verifies("E-06")}every event stream has the headers that keep it flowing`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    call.answer({});
    await stream.response();
    const resumed = await session.get({ lastEventId: stream.events[0]?.id as string });
    const standalone = await session.get();
    for (const { status, headers } of [session.initializeStream, stream, resumed, standalone]) {
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      });
      expect(headers["content-encoding"]).toBeUndefined();
    }
  });

  for (const version of ["2025-11-25", "2025-06-18"]) {
    test(`${verifies("E-06")}a heartbeat names the newest event written (${version})`, async () => {
      const bench = await open({ options: { heartbeatMs: 5 } });
      const session = await bench.session({ version });
      const stream = await session.get();
      const random = seededRandom(testSeed("heartbeats under load"));
      let number = 0;
      // Bursts between heartbeats: each burst begins when one was seen.
      for (let beat = 0; beat < 60; beat += 1) {
        for (let left = random.int(0, 40); left > 0; left -= 1) {
          number += 1;
          session.upstream.say(note(number, "x".repeat(random.pick([0, 10, 5_000]))));
          if (random.chance(0.1)) await turnOfTheLoop();
        }
        await stream.nextComment(isHeartbeat);
      }
      const newest = stream.lastEventId;
      await stream.nextComment((text) => text === `at ${newest}`);
      expectHeartbeatsRight(stream);
      expect(numbersIn(stream.items)).toEqual(range(1, number));
    });
  }

  test(`${verifies("E-06")}on a resumed stream it begins at the cursor`, async () => {
    const bench = await open({ options: { heartbeatMs: 20 } });
    const session = await bench.session({ version: "2025-06-18" });
    const first = await session.get();
    sayNotes(session.upstream, 1, 3);
    for (let i = 0; i < 3; i += 1) await first.nextMessage();
    const cursor = first.lastEventId as string;
    const resumed = await session.get({ lastEventId: cursor });
    expect(await resumed.nextComment(isHeartbeat)).toBe(`at ${cursor}`);
  });

  test(`${verifies("E-06", "c018")}heartbeats keep a proxy's idle limit away`, async () => {
    const bench = await open({ options: { heartbeatMs: 50 } });
    const rules = { idleMs: 1_500, isHeadHeld: true };
    const proxy = await faultProxy({ target: bench.target, rules });
    const session = await bench.session({ url: proxy.url("/mcp") });
    const stream = await session.get();
    // Twice as long as the idle limit, by the server's own clock.
    for (let beat = 0; beat < 60; beat += 1) await stream.nextComment(isHeartbeat);
    sayNotes(session.upstream, 1, 1);
    await stream.nextMessage();
    expect(proxy.counts.cuts).toBe(0);
    expect(numbersIn(stream.items)).toEqual([1]);
  });

  test(`${verifies("E-06", "S-01", "c018")}without them it is cut, and goes on`, async () => {
    const bench = await open({ options: { heartbeatMs: 0 } });
    const proxy = await faultProxy({ target: bench.target, rules: { idleMs: 200 } });
    const session = await bench.session({ url: proxy.url("/mcp") });
    const seen: SseItem[] = [];
    let lastEventId: string | undefined;
    for (let round = 1; round <= 4; round += 1) {
      const stream = await session.get(lastEventId === undefined ? {} : { lastEventId });
      expect(stream.status).toBe(200);
      const cut = proxy.nextCut();
      seen.push(...(await stream.rest()));
      // Nothing but the idle limit ended it, and nothing had been said on it.
      expect((await cut).cause).toBe("idle");
      expect(stream.items.filter((item) => item.kind === "comment")).toEqual([]);
      lastEventId = stream.lastEventId;
      if (round === 3) sayNotes(session.upstream, 1, 1);
    }
    expect(numbersIn(seen)).toEqual([1]);
  });
}

function isHeartbeat(text: string): boolean {
  return text.startsWith("at ");
}

/** Each heartbeat names the newest event that stands before it, or the priming event. */
function expectHeartbeatsRight(stream: EventStream): void {
  let newest: string | undefined;
  for (const item of stream.items) {
    if ("id" in item && item.id !== undefined) newest = item.id;
    if (item.kind !== "comment" || !isHeartbeat(item.text)) continue;
    // Before the first event of an unprimed stream it names the place before that event.
    const expected = newest ?? item.text.slice(3).replace(/\.\d+\.(\w+)$/, ".0.$1");
    expect(item.text).toBe(`at ${expected}`);
  }
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
