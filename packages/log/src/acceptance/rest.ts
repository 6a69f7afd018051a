/** Chapter: sessions at rest. Which may expire, told from when they were last in use. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { Op, RestLimits, SessionId } from "../event-log.ts";
import type { LogHarness } from "./harness.ts";
import { creation, numbered, openScene, type Scene } from "./scene.ts";

const limits: RestLimits = {
  idleTtlMs: 10_000,
  unusedTtlMs: 1_000,
  touchLagMs: 100,
  sessions: 100,
};
const idleMs = limits.idleTtlMs + limits.touchLagMs;
const unusedMs = limits.unusedTtlMs;

const use: Op = { op: "touch", isUsed: true };

export function rest(harness: LogHarness): void {
  describe("rest", () => {
    used(harness);
    windows(harness);
    many(harness);
  });
}

function used(harness: LogHarness): void {
  test(`${verifies("S-02")}a session in use rests from its last touch on`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, use);
    scene.clock.advance(idleMs - 1);
    expect(await rested(scene)).toEqual([]);
    await scene.commit(session, { op: "touch", isUsed: false });
    scene.clock.advance(idleMs - 1);
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(1);
    expect(await rested(scene)).toEqual(["a"]);
    // Named until something is done about it.
    expect(await rested(scene)).toEqual(["a"]);
    await scene.commit(session, use);
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(idleMs);
    expect(await rested(scene)).toEqual(["a"]);
    await scene.commit(session, { op: "end", reason: "expired" });
    expect(await rested(scene)).toEqual([]);
  });

  test(`${verifies("S-03")}one that was never used rests for less, from its creation on`, async () => {
    const scene = await openScene(harness);
    await scene.create("never used");
    await scene.commit("at once" as SessionId, creation("at once"), use);
    const later = await scene.create("later");
    const still = await scene.create("still not");
    scene.clock.advance(unusedMs - 1);
    await scene.commit(later, use);
    await scene.commit(still, { op: "touch", isUsed: false });
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(1);
    expect(await rested(scene)).toEqual(["never used"]);
    scene.clock.advance(unusedMs);
    expect(await rested(scene)).toEqual(["never used", "still not"]);
    await scene.reopen();
    expect(await rested(scene)).toEqual(["never used", "still not"]);
    // Used once is used for good.
    await scene.commit(later, { op: "touch", isUsed: false });
    scene.clock.advance(idleMs - 1);
    expect(await rested(scene)).not.toContain("later");
    scene.clock.advance(1);
    expect(await rested(scene)).toContain("later");
  });

  test(`${verifies("S-02")}steps of the wall clock and time without a process do not count`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, use);
    scene.clock.advance(5_000);
    scene.clock.stepWall(1_000_000_000);
    expect(await rested(scene)).toEqual([]);
    await scene.log.close();
    scene.clock.advance(1_000_000_000);
    await scene.reopen();
    expect(await rested(scene)).toEqual([]);
    scene.clock.stepWall(-3_000_000_000);
    scene.clock.advance(idleMs - 5_000 - 1);
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(1);
    expect(await rested(scene)).toEqual(["a"]);
  });
}

function windows(harness: LogHarness): void {
  const windowMs = 50_000;

  test(`${verifies("S-02")}none is named before the window of its newest event has passed`, async () => {
    const scene = await openScene(harness, { windowMs });
    const session = await scene.create("a");
    await scene.commit(session, use);
    scene.clock.advance(idleMs - 1);
    await scene.note(session, 0, "n1");
    scene.clock.advance(windowMs - 1);
    expect(await rested(scene)).toEqual([]);
    // Newer ones, also while it is known to wait; also on another stream, also a response.
    await scene.note(session, 0, "n2");
    scene.clock.advance(1);
    expect(await rested(scene)).toEqual([]);
    await scene.open(session, 1);
    await scene.answer(session, 1, "r");
    scene.clock.advance(windowMs - 1);
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(1);
    expect(await rested(scene)).toEqual(["a"]);
    await scene.commit(session, use);
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(idleMs);
    expect(await rested(scene)).toEqual(["a"]);
  });

  test(`${verifies("S-02")}one that retains no event has none to wait for`, async () => {
    const scene = await openScene(harness, { windowMs, maxBytes: 10 });
    const session = await scene.create("a");
    await scene.commit(session, use);
    scene.clock.advance(idleMs);
    await scene.note(session, 0, "n1");
    expect(await rested(scene)).toEqual([]);
    await scene.note(session, 0, "too large to be kept");
    expect((await scene.state(session, 0)).evictedThrough).toBe(2);
    // That it waits may be known from before: no longer than until its first event's window ends.
    scene.clock.advance(windowMs);
    expect(await rested(scene)).toEqual(["a"]);
  });

  test(`${verifies("S-03")}one that was never used waits for no event`, async () => {
    const scene = await openScene(harness, { windowMs });
    const session = await scene.create("a");
    await scene.open(session, 1);
    scene.clock.advance(unusedMs);
    await scene.answer(session, 1, "the answer to initialize");
    expect(await rested(scene)).toEqual(["a"]);
  });

  test(`${verifies("S-02")}a longer time to rest holds for those that wait, too`, async () => {
    const scene = await openScene(harness, { windowMs });
    const session = await scene.create("a");
    await scene.commit(session, use);
    scene.clock.advance(idleMs);
    await scene.note(session, 0, "n");
    expect(await rested(scene)).toEqual([]);
    scene.clock.advance(windowMs);
    const longer = { ...limits, idleTtlMs: 100_000 };
    expect(await scene.log.rested(longer)).toEqual([]);
    expect(await rested(scene)).toEqual(["a"]);
    scene.clock.advance(longer.idleTtlMs - limits.idleTtlMs - windowMs - 1);
    expect(await scene.log.rested(longer)).toEqual([]);
    scene.clock.advance(1);
    expect(await scene.log.rested(longer)).toEqual(["a"]);
  });
}

function many(harness: LogHarness): void {
  test(`${verifies("S-02", "S-03")}those that wait longest come first, no more than asked for`, async () => {
    const scene = await openScene(harness);
    // Due at 10100, 10101 …, and at 10050, 10051 …
    for (let n = 0; n < 100; n += 1) {
      const session = await scene.create(`used ${n}`);
      await scene.commit(session, use);
      scene.clock.advance(1);
    }
    scene.clock.advance(idleMs - 100 - unusedMs - 50);
    for (let n = 0; n < 100; n += 1) {
      await scene.create(`unused ${n}`);
      scene.clock.advance(1);
    }
    scene.clock.advance(limits.idleTtlMs);
    const names = (what: string, from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => `${what} ${from + i}`);
    const take = async (sessions: number) => {
      const found = await scene.log.rested({ ...limits, sessions });
      for (const session of found) await scene.commit(session, { op: "end", reason: "expired" });
      return found;
    };
    expect(await take(10)).toEqual(names("unused", 0, 9));
    expect(await take(40)).toEqual(names("unused", 10, 49));
    expect([...(await take(100))].sort()).toEqual(
      [...names("unused", 50, 99), ...names("used", 0, 49)].sort(),
    );
    expect(await take(1_000)).toEqual(names("used", 50, 99));
    expect(await take(1_000)).toEqual([]);
  });

  test(`${verifies("S-02")}those that wait for their events stand in nobody's way`, async () => {
    const scene = await openScene(harness, { windowMs: 50_000 });
    for (let n = 0; n < 300; n += 1) {
      const session = await scene.create(`waits ${n}`);
      await scene.commit(session, use);
    }
    scene.clock.advance(1);
    for (let n = 0; n < 3; n += 1) {
      const session = await scene.create(`free ${n}`);
      await scene.commit(session, use);
      scene.clock.advance(1);
    }
    scene.clock.advance(idleMs);
    for (let n = 0; n < 300; n += 1) await scene.note(`waits ${n}` as SessionId, 0, "n");
    expect(await scene.log.rested({ ...limits, sessions: 2 })).toEqual(["free 0", "free 1"]);
    await scene.commit("free 0" as SessionId, { op: "end", reason: "expired" });
    await scene.reopen();
    expect(await scene.log.rested({ ...limits, sessions: 2 })).toEqual(["free 1", "free 2"]);
    scene.clock.advance(50_000);
    // The one whose time is longest over, whether it had to wait or not.
    const all = await scene.log.rested({ ...limits, sessions: 1_000 });
    expect(all).toHaveLength(302);
    expect(all.slice(0, 2)).toEqual(["free 1", "free 2"]);
  });

  test(`${verifies("S-02")}those with very many events take several calls at most, and end`, async () => {
    const scene = await openScene(harness, { windowMs: 50_000 });
    for (let n = 0; n < 30; n += 1) await scene.commit(await scene.create(`waits ${n}`), use);
    scene.clock.advance(1);
    await scene.commit(await scene.create("free"), use);
    scene.clock.advance(idleMs);
    for (let n = 0; n < 30; n += 1) {
      await scene.note(`waits ${n}` as SessionId, 0, ...numbered(1, 900));
    }
    let found: readonly SessionId[] = [];
    for (let calls = 0; calls < 5 && found.length === 0; calls += 1) found = await rested(scene);
    expect(found).toEqual(["free"]);
  });
}

function rested(scene: Scene): Promise<readonly SessionId[]> {
  return scene.log.rested(limits);
}
