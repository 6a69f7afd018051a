/** Chapter: idempotency keys. Who holds one, what became of its call, and for how long that stays. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { Claim, Op, SessionId } from "../event-log.ts";
import type { LogHarness } from "./harness.ts";
import {
  callOf,
  idempotencyTtlMs,
  keyed,
  notification,
  numbered,
  openScene,
  response,
  type Scene,
} from "./scene.ts";

const cancellation: Op = { op: "cancel", stream: 1, call: 0 };

export function keys(harness: LogHarness): void {
  describe("idempotency keys", () => {
    claiming(harness);
    settling(harness);
    takingOver(harness);
    keeping(harness);
  });
}

function claiming(harness: LogHarness): void {
  test(`${verifies("X-03")}a key is claimed in the step that opens its call`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    expect(await scene.log.claim("all", "k")).toBeUndefined();
    await scene.commit(session, keyed(1, "k"));
    expect(await scene.log.claim("all", "k")).toEqual(running(session, 1));
    // The stream knows its key, so that an answer after a restart finds it.
    expect((await scene.state(session, 1)).calls).toMatchObject([{ claim: { key: "k" } }]);
  });

  test(`${verifies("X-03")}a held key refuses the whole commit, whoever asks`, async () => {
    const scene = await openScene(harness);
    const [a, b] = [await scene.create("a"), await scene.create("b")];
    await scene.commit(a, keyed(1, "k"));
    const held = { kind: "claimed", claim: running(a, 1) };
    for (const [session, claim] of [
      [a, {}],
      [b, {}],
      [b, { digest: "other" }],
    ] as const) {
      const before = await scene.log.session(session);
      const ops = [notification(0, "with it"), keyed(2, "k", claim), keyed(3, "free")];
      expect(await scene.attempt(session, ops)).toEqual(held);
      expect(await scene.log.session(session)).toEqual(before);
      expect((await scene.state(session, 0)).head).toBe(0);
      expect(await scene.log.claim("all", "free")).toBeUndefined();
    }
    expect(await scene.log.claim("all", "k")).toEqual(running(a, 1));
  });

  test(`${verifies("X-03")}keys of one scope are not those of another, however they are spelled`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    const spelled = [
      ["a b", "c"],
      ["a", "b c"],
      ["a ", "c"],
      ["A", "b c"],
      ["", "ac"],
    ] as const;
    for (const [i, [scope, key]] of spelled.entries()) {
      await scene.commit(session, keyed(i + 1, key, { scope }));
    }
    for (const [i, [scope, key]] of spelled.entries()) {
      expect(await scene.log.claim(scope, key)).toMatchObject({ stream: i + 1 });
    }
  });

  test(`${verifies("X-03")}of two that claim in the same turn, one does`, async () => {
    const scene = await openScene(harness);
    const [a, b] = [await scene.create("a"), await scene.create("b")];
    const outcomes = await Promise.all([
      scene.attempt(a, [keyed(1, "k")]),
      scene.attempt(b, [keyed(1, "k")]),
      scene.attempt(a, [keyed(1, "k")]).catch(() => "mistake"),
    ]);
    expect(outcomes).toMatchObject([
      { kind: "committed" },
      { kind: "claimed", claim: { session: a } },
      "mistake",
    ]);
    expect(await scene.log.stream(b, 1)).toBeUndefined();
  });

  test(`${verifies("X-03", "W-03", "S-04")}what is not opened claims nothing; full and absent come first`, async () => {
    const scene = await openScene(harness, { maxBytes: 10 });
    const session = await scene.create("a");
    const mistake = [keyed(1, "k"), response(1, "r", 7)];
    await expect(scene.attempt(session, mistake)).rejects.toMatchObject({ name: "AssertionError" });
    const nobody = "nobody" as SessionId;
    expect(await scene.attempt(nobody, [keyed(1, "k")])).toEqual({ kind: "absent" });
    expect(await scene.log.claim("all", "k")).toBeUndefined();
    await scene.commit(session, keyed(1, "k"));
    await scene.answer(session, 1, "0123456789");
    expect(await scene.attempt(session, [keyed(2, "k")])).toEqual({ kind: "full" });
    expect(await scene.attempt(session, [keyed(2, "other")])).toEqual({ kind: "full" });
    expect(await scene.log.claim("all", "other")).toBeUndefined();
    expect(await scene.attempt(nobody, [keyed(1, "k")])).toEqual({ kind: "absent" });
  });

  test(`${verifies("X-03", "c043")}repeated after a lost reply, an attempt keeps its outcome`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    const first = await scene.attempt(session, [keyed(1, "k")], "first");
    expect(first).toMatchObject({ kind: "committed" });
    const refused = await scene.attempt(session, [keyed(2, "k")], "second");
    expect(refused).toMatchObject({ kind: "claimed" });
    await scene.answer(session, 1, "r");
    // The very same, though the key has an outcome by now.
    expect(await scene.attempt(session, [keyed(1, "k")], "first")).toEqual(first);
    expect(await scene.attempt(session, [keyed(2, "k")], "second")).toEqual(refused);
    expect(await scene.log.claim("all", "k")).toMatchObject({ outcome: { kind: "answered" } });
  });
}

function settling(harness: LogHarness): void {
  test(`${verifies("X-03", "X-05")}a key has the outcome of its call from the step that logs it`, async () => {
    const scene = await openScene(harness);
    for (const [key, op, outcome] of [
      ["answered", response(1, "result"), { kind: "answered", text: "result" }],
      ["unknown", unknown(1), { kind: "unknown", reason: "process-restarted" }],
      ["cancelled", cancellation, { kind: "unknown", reason: "window-expired" }],
      ["ended", { op: "end", reason: "deleted" }, { kind: "unknown", reason: "session-ended" }],
    ] as const) {
      const session = await scene.create(`session of ${key}`);
      await scene.commit(session, keyed(1, key));
      const expected = { ...running(session, 1), outcome };
      const mistake = scene.attempt(session, [op, notification(9, "nowhere")]);
      await expect(mistake).rejects.toMatchObject({ name: "AssertionError" });
      expect(await scene.log.claim("all", key)).toEqual(running(session, 1));
      await scene.commit(session, op);
      expect(await scene.log.claim("all", key)).toEqual(expected);
      await scene.reopen();
      expect(await scene.log.claim("all", key)).toEqual(expected);
    }
  });

  test(`${verifies("X-03", "X-02")}each call of a stream settles its own key, and no other`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    const calls = ["k0", undefined, "k2"].map((key, i) => {
      const claim = key && { scope: "all", key, digest: key, isRerun: false };
      return { ...callOf(1, i), ...(claim ? { claim } : {}) };
    });
    await scene.commit(session, { op: "open", stream: 1, calls });
    await scene.commit(session, response(1, "r1", 1), response(1, "r2", 2));
    expect(await scene.log.claim("all", "k0")).toMatchObject({ outcome: { kind: "running" } });
    expect(await scene.log.claim("all", "k2")).toMatchObject({
      call: 2,
      digest: "k2",
      outcome: { kind: "answered", text: "r2" },
    });
    await scene.reopen();
    await scene.commit(session, response(1, "r0", 0));
    expect(await scene.log.claim("all", "k0")).toMatchObject({
      outcome: { kind: "answered", text: "r0" },
    });
  });

  test(`${verifies("X-03")}a call that is opened and answered in one step leaves its answer`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k"), response(1, "at once"));
    const outcome = { kind: "answered", text: "at once" };
    expect(await scene.log.claim("all", "k")).toMatchObject({ outcome });
    const twice = [keyed(2, "other"), keyed(3, "other")];
    await expect(scene.attempt(session, twice)).rejects.toMatchObject({ name: "AssertionError" });
  });
}

function takingOver(harness: LogHarness): void {
  test(`${verifies("X-05")}a key whose outcome is unknown is taken over by a call that may run again`, async () => {
    const scene = await openScene(harness);
    const [a, b] = [await scene.create("a"), await scene.create("b")];
    await scene.commit(a, keyed(1, "k"));
    const rerun = { isRerun: true, digest: "other" };
    // Not while it runs.
    expect(await scene.attempt(b, [keyed(5, "k", rerun)])).toMatchObject({ kind: "claimed" });
    await scene.commit(a, unknown(1));
    const held = await scene.log.claim("all", "k");
    // Not by a call that may not.
    expect(await scene.attempt(b, [keyed(5, "k")])).toEqual({ kind: "claimed", claim: held });
    await scene.commit(b, keyed(5, "k", rerun));
    const taken = { ...running(b, 5), digest: "other" };
    expect(await scene.log.claim("all", "k")).toEqual(taken);
    // The second waits for the first.
    expect(await scene.attempt(a, [keyed(2, "k", rerun)])).toEqual({
      kind: "claimed",
      claim: taken,
    });
    await scene.commit(a, { op: "end", reason: "deleted" });
    expect(await scene.log.claim("all", "k")).toEqual(taken);
    await scene.answer(b, 5, "result");
    const answered = { ...taken, outcome: { kind: "answered", text: "result" } };
    expect(await scene.log.claim("all", "k")).toEqual(answered);
    // Nor what has an answer.
    expect(await scene.attempt(b, [keyed(6, "k", rerun)])).toEqual({
      kind: "claimed",
      claim: answered,
    });
  });

  test(`${verifies("X-05")}one that is taken over is kept from its new call's end on`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k"));
    await scene.commit(session, cancellation);
    scene.clock.advance(idempotencyTtlMs - 1);
    await scene.commit(session, keyed(2, "k", { isRerun: true }));
    scene.clock.advance(idempotencyTtlMs);
    await scene.sweep();
    expect(await scene.log.claim("all", "k")).toEqual(running(session, 2));
    await scene.answer(session, 2, "r");
    scene.clock.advance(idempotencyTtlMs - 1);
    await scene.sweep();
    expect(await scene.log.claim("all", "k")).toMatchObject({ outcome: { kind: "answered" } });
  });

  test(`${verifies("X-03")}a key that nobody holds is claimed by a call that may run again, too`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k", { isRerun: true }));
    expect(await scene.log.claim("all", "k")).toEqual(running(session, 1));
  });
}

function keeping(harness: LogHarness): void {
  test(`${verifies("X-03")}an answer outlives its events, its stream, its session and its tombstone`, async () => {
    const scene = await openScene(harness, { windowMs: 1_000 });
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k"));
    await scene.answer(session, 1, "result");
    const claim = { ...running(session, 1), outcome: { kind: "answered", text: "result" } };
    scene.clock.advance(1_000);
    await scene.sweep();
    expect((await scene.state(session, 1)).evictedThrough).toBe(1);
    expect(await scene.log.claim("all", "k")).toEqual(claim);
    await scene.commit(session, { op: "end", reason: "expired" });
    scene.clock.advance(60_000);
    await scene.sweep();
    expect(await scene.log.claim("all", "k")).toEqual(claim);
    scene.clock.advance(24 * 60 * 60_000);
    await scene.sweep();
    expect(await scene.log.session(session)).toBeUndefined();
    await scene.reopen();
    expect(await scene.log.claim("all", "k")).toEqual(claim);
    const other = await scene.create("b");
    expect(await scene.attempt(other, [keyed(1, "k")])).toEqual({ kind: "claimed", claim });
  });

  test(`${verifies("X-03", "S-02")}a key is kept for its time after its call has ended, in log time`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k"));
    // While it runs, no time passes for it.
    scene.clock.advance(2 * idempotencyTtlMs);
    await scene.sweep();
    await scene.answer(session, 1, "r");
    scene.clock.stepWall(10 * idempotencyTtlMs);
    await scene.log.close();
    scene.clock.advance(10 * idempotencyTtlMs);
    await scene.reopen();
    scene.clock.advance(idempotencyTtlMs - 1);
    await scene.sweep();
    expect(await scene.log.claim("all", "k")).toMatchObject({ outcome: { text: "r" } });
    scene.clock.advance(1);
    // Gone at once, swept or not.
    expect(await scene.log.claim("all", "k")).toBeUndefined();
    await scene.commit(session, keyed(2, "k"));
    expect(await scene.log.claim("all", "k")).toEqual(running(session, 2));
    await scene.sweep();
    expect(await scene.log.claim("all", "k")).toEqual(running(session, 2));
    await scene.answer(session, 2, "again");
    expect(await scene.log.claim("all", "k")).toMatchObject({ outcome: { text: "again" } });
  });

  test(`${verifies("X-03")}no key runs for ever: what its session left behind is forgotten in time`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "k"));
    scene.clock.advance(idempotencyTtlMs);
    await scene.commit(session, { op: "end", reason: "ended" });
    scene.clock.advance(idempotencyTtlMs - 1);
    await scene.sweep();
    expect(await scene.log.session(session)).toBeUndefined();
    expect(await scene.log.claim("all", "k")).toMatchObject({
      outcome: { kind: "unknown", reason: "session-ended" },
    });
    scene.clock.advance(1);
    expect(await scene.log.claim("all", "k")).toBeUndefined();
  });

  test(`${verifies("X-03")}many keys are forgotten in bounded steps, those that run are not`, async () => {
    const scene = await openScene(harness);
    const session = await scene.create("a");
    await scene.commit(session, keyed(1, "runs"));
    for (const [i, key] of numbered(1, 1_200).entries()) {
      await scene.commit(session, keyed(i + 2, key), response(i + 2, "r"));
    }
    // What else is due goes first.
    scene.clock.advance(idempotencyTtlMs - 1);
    await scene.sweep();
    scene.clock.advance(1);
    let steps = 0;
    for (let isBehind = true; isBehind; steps += 1) ({ isBehind } = await scene.log.sweep());
    expect(steps).toBeGreaterThan(2);
    expect(await heldOf(scene, numbered(1, 1_200))).toEqual([]);
    expect(await heldOf(scene, ["runs"])).toEqual(["runs"]);
  });
}

/** What the ledger says of a call that {@link keyed} opened. */
function running(session: SessionId, stream: number): Claim {
  const outcome = { kind: "running" } as const;
  return { digest: "digest", session, stream, call: 0, request: callOf(stream, 0), outcome };
}

function unknown(stream: number): Op {
  const receipt = response(stream, "receipt") as Extract<Op, { kind: "response" }>;
  return { ...receipt, unknown: "process-restarted" };
}

async function heldOf(scene: Scene, names: readonly string[]): Promise<readonly string[]> {
  const claims = await Promise.all(names.map((key) => scene.log.claim("all", key)));
  return names.filter((_, i) => claims[i] !== undefined);
}
