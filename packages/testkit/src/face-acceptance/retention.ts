/** Chapter: what is kept for how long, and what gives way when there is too much. */
import { expect, test } from "vitest";
import { fakeClock } from "../fake-clock.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed } from "./checks.ts";
import { note, numbersIn, openCall, range, sayNotes, settle } from "./traffic.ts";

const windowMs = 1_800_000;
const contract = { "mcp-resume-contract": "1" };

export function retentionChapter(open: OpenBench): void {
  caps(open);
  questionsAndBreaches(open);
  theWindow(open);
}

function caps(open: OpenBench): void {
  test(`${verifies("W-03")}a chatty call cannot push out a result`, async () => {
    const retention = { windowMs, maxEvents: 50, maxBytes: 2 ** 26 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    const done = [];
    for (let i = 0; i < 5; i += 1) {
      const { stream, call } = await openCall(session);
      const cursor = await primed(stream);
      stream.destroy();
      call.answer({ done: i });
      done.push(cursor);
    }
    await settle(bench);
    const chatty = await openCall(session);
    sayNotes(session.upstream, 1, 1_000);
    for (const [i, lastEventId] of done.entries()) {
      const resumed = await session.get({ lastEventId });
      expect((await resumed.response()).result).toEqual({ done: i });
    }
    chatty.call.answer({});
  });

  test(`${verifies("W-03", "W-01")}events of a running call give way, its response does not`, async () => {
    const retention = { windowMs, maxEvents: 2 ** 20, maxBytes: 100_000 };
    const bench = await open({ options: { retention, gapSignal: "status" } });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    const cursor = await primed(stream);
    stream.destroy();
    await settle(bench);
    for (const number of range(1, 300)) session.upstream.say(note(number, "x".repeat(1_000)));
    call.answer({ text: "y".repeat(50_000) });
    const refusal = await session.get({ lastEventId: cursor });
    const body = await expectRefusal(refusal, {
      status: 410,
      code: -32010,
      type: "resume-window-exceeded",
    });
    const { oldestEventId, lostEvents } = body.error?.data ?? {};
    const resumed = await session.get({ lastEventId: String(oldestEventId) });
    const { result } = await resumed.response();
    expect(JSON.stringify(result)).toBe(`{"text":"${"y".repeat(50_000)}"}`);
    // A prefix is gone, and what is kept has no hole.
    expect(numbersIn(resumed.items)).toEqual(range(Number(lostEvents) + 1, 300));
    expect(Number(lostEvents)).toBeGreaterThan(200);
    expect(Number(lostEvents)).toBeLessThan(300);
  });

  test(`${verifies("W-03", "D-03")}when results alone fill the log, new requests wait`, async () => {
    const clock = fakeClock();
    const options = {
      retention: { windowMs: 1_000, maxEvents: 100, maxBytes: 10_000 },
      clientReconnectMs: 900,
      idleTtlMs: 1_900,
    };
    const bench = await open({ options, clock });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    const cursor = await primed(stream);
    call.answer({ text: "x".repeat(12_000) });
    await stream.response();
    const arrived = session.upstream.arrivals.length;
    const overloaded = { status: 503, code: -32000, type: "overloaded", data: { notRun: true } };
    await expectRefusal(await session.request("tools/list", {}, { id: "a" }), {
      ...overloaded,
      id: "a",
    });
    expect(session.upstream.arrivals).toHaveLength(arrived);
    // Everything else goes on: notifications, resumes, the result itself.
    await expectEmpty(await session.notify("notifications/roots/list_changed"), 202);
    const resumed = await session.get({ lastEventId: cursor });
    expect(JSON.stringify((await resumed.response()).result)).toHaveLength(12_011);
    // Until the window of the results has passed.
    clock.advance(1_100);
    for (;;) {
      const again = await session.request("ping");
      if (again.status === 200) break;
      expect(again.status).toBe(503);
    }
    await expectAlive(session);
  });
}

function questionsAndBreaches(open: OpenBench): void {
  test(`${verifies("W-03", "X-06")}a question that is evicted unanswered fails at the upstream`, async () => {
    const retention = { windowMs, maxEvents: 20, maxBytes: 2 ** 26 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    session.upstream.say({ id: "q1", method: "roots/list" });
    session.upstream.say({ id: 2, method: "roots/list" });
    await settle(bench);
    sayNotes(session.upstream, 1, 19);
    const first = await session.upstream.take(({ id }) => id === "q1");
    expect(first.message).toMatchObject({ jsonrpc: "2.0", id: "q1", error: { code: -32000 } });
    // The other one is kept still, and can be answered.
    const stream = await session.get();
    const question = await stream.nextMessage(({ method }) => method === "roots/list");
    await expectEmpty(
      await session.post({ jsonrpc: "2.0", id: question.id, result: { roots: [] } }),
      202,
    );
    const second = await session.upstream.take(({ id }) => id === 2);
    expect(second.message.result).toEqual({ roots: [] });
  });

  // Its eviction is told before its place is known, and then nobody answers it any more.
  test(`${verifies("W-03")}also one that is evicted in the turn in which it was asked`, async () => {
    const retention = { windowMs, maxEvents: 20, maxBytes: 2 ** 26 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    session.upstream.say({ id: "q1", method: "roots/list" });
    sayNotes(session.upstream, 1, 20);
    await settle(bench);
    const answered = session.upstream.arrivals.map(({ message }) => message.id);
    expect(answered).toContain("q1");
  });

  test(`${verifies("W-04")}evictions inside the window are counted as breaches`, async () => {
    const retention = { windowMs, maxEvents: 50, maxBytes: 2 ** 26 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    sayNotes(session.upstream, 1, 50);
    await settle(bench);
    expect(bench.breachCount()).toBe(0);
    sayNotes(session.upstream, 51, 120);
    await settle(bench);
    expect(bench.breachCount()).toBe(70);
  });
}

function theWindow(open: OpenBench): void {
  const options = {
    retention: { windowMs: 1_000, maxEvents: 100, maxBytes: 2 ** 26 },
    clientReconnectMs: 900,
    idleTtlMs: 1_900,
  };

  test(`${verifies("W-01", "W-04")}events are kept for the window, a call's for the call, too`, async () => {
    const clock = fakeClock();
    const bench = await open({ options, clock });
    const session = await bench.session();
    const standalone = await session.get();
    const standaloneCursor = await primed(standalone);
    sayNotes(session.upstream, 1, 3);
    for (let i = 0; i < 3; i += 1) await standalone.nextMessage();
    const { stream, call } = await openCall(session);
    const cursor = await primed(stream);
    sayNotes(session.upstream, 1, 3);
    clock.advance(10_000);
    // Once the standalone stream has lost its events, the sweep has been there.
    await untilStatus(410, standaloneCursor);
    await expectShown(cursor, 3);
    call.answer({});
    await (await session.get({ lastEventId: cursor })).response();
    sayNotes(session.upstream, 4, 4);
    clock.advance(990);
    sayNotes(session.upstream, 5, 5);
    await settle(bench);
    await expectShown(cursor, 3);
    clock.advance(11);
    await untilStatus(410, cursor);
    // Its time was over: no breach.
    expect(bench.breachCount()).toBe(0);

    async function untilStatus(status: number, lastEventId: string): Promise<void> {
      for (;;) {
        const asked = await session.get({ lastEventId, headers: contract });
        if (asked.status === status) return;
        asked.destroy();
      }
    }
    async function expectShown(lastEventId: string, notes: number): Promise<void> {
      const shown = await session.get({ lastEventId, headers: contract });
      expect(shown.status).toBe(200);
      for (let i = 0; i < notes; i += 1) await shown.nextMessage();
      expect(numbersIn(shown.items)).toEqual(range(1, notes));
      shown.destroy();
    }
  });

  test(`${verifies("W-01")}steps of the wall clock change nothing`, async () => {
    const clock = fakeClock();
    const bench = await open({ options, clock });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    const cursor = await primed(stream);
    call.answer({});
    await stream.response();
    for (const byMs of [86_400_000, -172_800_000]) {
      clock.stepWall(byMs);
      // By the other stream, whose window has passed, one knows that the sweep has been there.
      await settle(bench);
      const resumed = await session.get({ lastEventId: cursor, headers: contract });
      expect(resumed.status).toBe(200);
    }
    clock.advance(1_001);
    for (;;) {
      const resumed = await session.get({ lastEventId: cursor, headers: contract });
      if (resumed.status === 410) break;
    }
  });

  test(`${verifies("W-05")}the answer to initialize says what is promised`, async () => {
    const bench = await open({
      options: {
        retention: { windowMs: 7_200_000, maxEvents: 123, maxBytes: 456_789 },
        idleTtlMs: 3_600_000,
        retryMs: 1_111,
        heartbeatMs: 0,
      },
    });
    const { initializeResult } = await bench.session();
    const { experimental } = initializeResult["capabilities"] as {
      readonly experimental: Readonly<Record<string, { readonly durability: string }>>;
    };
    const promise = experimental["dev.holdfast/resume"];
    expect(promise).toEqual({
      contract: 1,
      windowMs: 7_200_000,
      maxEvents: 123,
      maxBytes: 456_789,
      idleTtlMs: 3_600_000,
      retryMs: 1_111,
      heartbeatMs: 0,
      durability: expect.stringMatching(/^(memory|process|power)$/),
      idempotency: { header: "Idempotency-Key", ttlMs: 86_400_000, scope: "session" },
    });
  });
}
