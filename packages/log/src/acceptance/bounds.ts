/** Chapter: bounds under trimming. What the window and the caps take, and what they may not. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { notification, numbered, opening, openScene, response, type Scene } from "./scene.ts";

export function bounds(harness: LogHarness): void {
  describe("bounds under trimming", () => {
    windowBounds(harness);
    capBounds(harness);
    responseBounds(harness);
  });
}

function windowBounds(harness: LogHarness): void {
  test(`${verifies("W-01")}an event of the standalone stream is kept for the window`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000 });
    const session = await scene.create("a");
    const begin = await scene.at(session, 0, 0);
    await scene.note(session, 0, "n1");
    scene.clock.advance(600);
    await scene.note(session, 0, "n2");
    scene.clock.advance(399);
    await scene.sweep();
    expect(await scene.texts(session, begin)).toEqual(["n1", "n2"]);
    scene.clock.advance(1);
    await scene.sweep();
    expect(await scene.texts(session, await scene.at(session, 0, 1))).toEqual(["n2"]);
    expect(await scene.read(session, begin)).toMatchObject({ kind: "gap", gap: { lostEvents: 1 } });
    const first = { session, stream: 0, through: 1, events: 1, bytes: 2 };
    expect(scene.evictions).toEqual([{ ...first, cause: "window", isBreach: false, ageMs: 1_000 }]);
    scene.clock.advance(1_000);
    await scene.sweep();
    const whole = await scene.state(session, 0);
    expect(whole).toMatchObject({ head: 2, evictedThrough: 2 });
    await scene.reopen();
    expect(await scene.state(session, 0)).toEqual(whole);
  });

  test(`${verifies("W-01")}events of a call are kept for the call plus the window`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000 });
    const session = await scene.create("a");
    const begin = await scene.open(session, 1);
    const cancelled = await scene.open(session, 2);
    await scene.note(session, 1, "n1");
    await scene.note(session, 2, "n1");
    scene.clock.advance(5_000);
    await scene.sweep();
    expect(await scene.texts(session, begin)).toEqual(["n1"]);
    await scene.answer(session, 1, "r");
    await scene.commit(session, { op: "cancel", stream: 2, call: 0 });
    scene.clock.advance(999);
    await scene.sweep();
    expect(await scene.texts(session, begin)).toEqual(["n1", "r"]);
    expect(await scene.texts(session, cancelled)).toEqual(["n1"]);
    scene.clock.advance(1);
    await scene.sweep();
    expect(await scene.state(session, 1)).toMatchObject({ head: 2, evictedThrough: 2 });
    expect(await scene.state(session, 2)).toMatchObject({ head: 1, evictedThrough: 1 });
    expect(scene.evictions.map(({ stream, through }) => [stream, through])).toEqual([
      [1, 2],
      [2, 1],
    ]);
  });

  test(`${verifies("R-04")}of a stream that is evicted whole the head is kept`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000 });
    const session = await scene.create("a");
    const begin = await scene.open(session, 1, 2);
    await scene.answer(session, 1, "r1", 1);
    await scene.note(session, 1, "n");
    const head = await scene.answer(session, 1, "r0", 0);
    const before = await scene.state(session, 1);
    scene.clock.advance(1_000);
    await scene.sweep();
    for (let i = 0; i < 2; i += 1) {
      expect(await scene.state(session, 1)).toEqual({ ...before, evictedThrough: 3 });
      expect(await scene.read(session, head)).toEqual({ kind: "finished" });
      expect(await scene.read(session, begin)).toMatchObject({
        kind: "gap",
        gap: { oldest: head, head, retained: head, lostEvents: 3 },
      });
      await scene.reopen();
    }
  });

  test(`${verifies("S-02", "W-01")}steps of the wall clock and time without a process do not count`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000 });
    const session = await scene.create("a");
    await scene.note(session, 0, "n1");
    scene.clock.advance(500);
    scene.clock.stepWall(1_000_000);
    await scene.sweep();
    await scene.log.close();
    scene.clock.advance(1_000_000);
    await scene.reopen();
    scene.clock.stepWall(-5_000_000);
    scene.clock.advance(499);
    await scene.sweep();
    expect(scene.evictions).toEqual([]);
    scene.clock.advance(1);
    await scene.sweep();
    expect(scene.evictions).toMatchObject([{ through: 1, cause: "window" }]);
  });

  test(`${verifies("W-01")}a sweep goes in bounded steps, and gets everything`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000, maxEvents: 10_000 });
    const [a, b] = [await scene.create("a"), await scene.create("b")];
    for (const session of [a, b]) {
      await scene.note(session, 0, ...numbered(1, 900));
      await scene.open(session, 1);
      await scene.commit(
        session,
        ...numbered(1, 900).map((text) => notification(1, text)),
        response(1, "r"),
      );
    }
    scene.clock.advance(1_000);
    let steps = 0;
    for (let isBehind = true; isBehind; steps += 1) {
      const before = scene.evictions.length;
      ({ isBehind } = await scene.log.sweep());
      const taken = scene.evictions.slice(before).reduce((sum, one) => sum + one.events, 0);
      expect(taken).toBeLessThanOrEqual(500);
    }
    expect(steps).toBeGreaterThan(7);
    for (const session of [a, b]) {
      expect(await scene.state(session, 0)).toMatchObject({ head: 900, evictedThrough: 900 });
      expect(await scene.state(session, 1)).toMatchObject({ head: 901, evictedThrough: 901 });
    }
    expect(scene.evictions.reduce((sum, one) => sum + one.events, 0)).toBe(2 * 1801);
    expect(await scene.log.sweep()).toEqual({ isBehind: false });
  });
}

function capBounds(harness: LogHarness): void {
  test(`${verifies("W-01", "W-04")}one event over the count takes one event, a breach`, async () => {
    const scene = await openScene(harness, { maxEvents: 3 });
    const session = await scene.create("a");
    await scene.note(session, 0, ...numbered(1, 3));
    expect(scene.evictions).toEqual([]);
    await scene.note(session, 0, "n4");
    const first = { session, stream: 0, through: 1, events: 1, bytes: 2 };
    expect(await told(scene)).toEqual([{ ...first, cause: "count", isBreach: true, ageMs: 0 }]);
    await scene.note(session, 0, ...numbered(5, 9));
    expect((await told(scene)).at(-1)).toMatchObject({ through: 6, events: 5 });
    expect(await scene.texts(session, await scene.at(session, 0, 6))).toEqual(numbered(7, 9));
  });

  test(`${verifies("W-04", "W-06")}what a cap takes after its window is no breach`, async () => {
    const scene = await openScene(harness, { maxEvents: 2, windowMs: 1_000 });
    const session = await scene.create("a");
    await scene.note(session, 0, "n1");
    scene.clock.advance(500);
    await scene.note(session, 0, "n2");
    scene.clock.advance(500);
    await scene.note(session, 0, "n3", "n4");
    expect(await told(scene)).toMatchObject([
      { through: 1, isBreach: false, ageMs: 1_000 },
      { through: 2, isBreach: true, ageMs: 500 },
    ]);
    // Of several at once, the newest counts: from there on nothing is missing.
    scene.clock.advance(200);
    await scene.note(session, 0, "n5", "n6");
    expect((await told(scene)).at(-1)).toMatchObject({ through: 4, events: 2, ageMs: 200 });
  });

  test(`${verifies("W-01")}bytes are counted as UTF-8, and no event too many goes`, async () => {
    const scene = await openScene(harness, { maxBytes: 10 });
    const session = await scene.create("a");
    await scene.note(session, 0, "äöü", "abcd");
    expect(scene.evictions).toEqual([]);
    await scene.note(session, 0, "e");
    expect(await told(scene)).toMatchObject([{ through: 1, bytes: 6, cause: "bytes" }]);
    // Larger than everything: it goes itself, and still has its position.
    expect(await scene.note(session, 0, "much too large")).toMatchObject([{ position: 4 }]);
    expect(await scene.state(session, 0)).toMatchObject({ head: 4, evictedThrough: 4 });
    expect(await scene.note(session, 0, "f")).toMatchObject([{ position: 5 }]);
    expect(await scene.texts(session, await scene.at(session, 0, 4))).toEqual(["f"]);
  });

  test(`${verifies("W-01", "W-03")}the oldest of the session goes first, whatever its stream`, async () => {
    const scene = await openScene(harness, { maxEvents: 4 });
    const session = await scene.create("a");
    await scene.open(session, 1);
    await scene.open(session, 2);
    await scene.note(session, 1, "1");
    await scene.note(session, 2, "2");
    await scene.note(session, 0, "3");
    await scene.note(session, 1, "4");
    for (const [text, gone] of [
      ["5", [1, 1]],
      ["6", [2, 1]],
      ["7", [0, 1]],
      ["8", [1, 2]],
    ] as const) {
      await scene.note(session, 2, text);
      const last = (await told(scene)).at(-1);
      expect([last?.stream, last?.through]).toEqual(gone);
    }
  });

  test(`${verifies("W-01")}caps are kept through a reopening`, async () => {
    const scene = await openScene(harness, { maxEvents: 5, maxBytes: 100 });
    const session = await scene.create("a");
    await scene.note(session, 0, ...numbered(1, 5));
    await scene.open(session, 1);
    await scene.answer(session, 1, "r".repeat(80));
    await scene.reopen();
    await scene.note(session, 0, "n6");
    expect(await told(scene)).toMatchObject([{ through: 1, cause: "count" }]);
    await scene.note(session, 0, "0123456789abcdef");
    expect((await told(scene)).slice(1)).toMatchObject([
      { through: 2, cause: "count" },
      { through: 4, cause: "bytes", events: 2 },
    ]);
  });

  test(`${verifies("W-01")}caps are of a session: another's chatter takes nothing`, async () => {
    const scene = await openScene(harness, { maxEvents: 3, maxBytes: 30 });
    const [quiet, loud] = [await scene.create("quiet"), await scene.create("loud")];
    await scene.note(quiet, 0, ...numbered(1, 3));
    await scene.note(loud, 0, ...numbered(1, 50));
    expect(await scene.texts(quiet, await scene.at(quiet, 0, 0))).toEqual(numbered(1, 3));
    expect((await told(scene)).every(({ session }) => session === loud)).toBe(true);
  });
}

function responseBounds(harness: LogHarness): void {
  test(`${verifies("W-03", "W-01", "E-10")}a chatty call pushes out no result`, async () => {
    const scene = await openScene(harness, { maxEvents: 100 });
    const session = await scene.create("a");
    const places = [];
    for (let stream = 1; stream <= 150; stream += 1) {
      places.push(await scene.open(session, stream));
      await scene.answer(session, stream, `result ${stream}`);
    }
    await scene.open(session, 200);
    await scene.note(session, 200, ...numbered(1, 300));
    await scene.answer(session, 200, "result 200");
    expect(await scene.state(session, 200)).toMatchObject({ head: 301, evictedThrough: 200 });
    for (const [i, place] of places.entries()) {
      expect(await scene.texts(session, place)).toEqual([`result ${i + 1}`]);
    }
    expect(await scene.texts(session, await scene.at(session, 200, 200))).toEqual([
      ...numbered(201, 300),
      "result 200",
    ]);
  });

  test(`${verifies("W-03", "D-03")}responses alone fill the bytes: new calls are refused`, async () => {
    const scene = await openScene(harness, { maxBytes: 100, windowMs: 1_000 });
    const session = await scene.create("a");
    await scene.open(session, 1);
    await scene.open(session, 2);
    await scene.note(session, 2, "running");
    await scene.answer(session, 1, "x".repeat(99));
    await scene.open(session, 3);
    await scene.answer(session, 3, "y");
    // The notification had to go, no result had.
    expect(await told(scene)).toMatchObject([{ stream: 2, through: 1, cause: "bytes" }]);
    const before = await scene.log.session(session);
    const refused = [notification(0, "with it"), opening(4)];
    expect(await scene.attempt(session, refused, "full")).toEqual({ kind: "full" });
    expect(await scene.attempt(session, refused, "full")).toEqual({ kind: "full" });
    expect(await scene.log.session(session)).toEqual(before);
    expect((await scene.state(session, 0)).head).toBe(0);
    // What runs is still served.
    await scene.answer(session, 2, "z");
    scene.clock.advance(1_000);
    await scene.sweep();
    await scene.open(session, 4);
  });
}

/** What `onEvicted` was told: it is told soon after the commit. */
async function told(scene: Scene): Promise<Scene["evictions"]> {
  await new Promise((resolve) => setImmediate(resolve));
  return scene.evictions;
}
