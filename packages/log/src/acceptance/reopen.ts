/** Chapter: reopen. A log that is closed and opened again goes on where it was. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { notification, numbered, openScene } from "./scene.ts";

export function reopen(harness: LogHarness): void {
  describe("reopen", () => {
    test(`${verifies("S-07", "c003")}sessions, streams, calls and events are there again`, async () => {
      const scene = await openScene(harness, { maxEvents: 10 });
      const session = await scene.create("a");
      const running = await scene.open(session, 1);
      await scene.open(session, 2, 3);
      await scene.open(session, 5);
      await scene.note(session, 1, ...numbered(1, 4));
      await scene.answer(session, 2, "r", 2);
      await scene.commit(session, { op: "cancel", stream: 2, call: 0 });
      await scene.note(session, 2, "n");
      await scene.answer(session, 5, "r");
      await scene.note(session, 0, ...numbered(1, 9));
      await scene.commit(session, { op: "written", stream: 0, position: 4 });
      const before = await snapshot();
      await scene.reopen();
      expect(await snapshot()).toEqual(before);
      expect(await scene.read(session, running)).toMatchObject({ kind: "gap" });

      await scene.open(session, 6);
      const [place] = await scene.note(session, 1, "n5");
      expect(place?.position).toBe(5);

      async function snapshot() {
        const streams = [0, 1, 2, 5].map((stream) => scene.log.stream(session, stream));
        // Who holds it is another node after each opening.
        const { holding: _, ...state } = (await scene.log.session(session)) ?? {};
        return [state, ...(await Promise.all(streams))];
      }
    });

    test(`${verifies("R-04", "R-06")}a stream that was evicted whole stays finished`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      await scene.open(session, 2);
      const heads = [await scene.answer(session, 1, "r"), ...(await scene.note(session, 2, "n"))];
      await scene.commit(session, { op: "cancel", stream: 2, call: 0 });
      scene.clock.advance(60_000);
      await scene.sweep();
      for (const stream of [1, 2]) {
        await scene.commit(session, { op: "written", stream, position: 1 });
      }
      const before = [await scene.state(session, 1), await scene.state(session, 2)];
      await scene.reopen();
      await scene.sweep();
      expect([await scene.state(session, 1), await scene.state(session, 2)]).toEqual(before);
      for (const head of heads)
        expect(await scene.read(session, head)).toEqual({ kind: "finished" });
    });

    test("a closed log refuses, and closing again does nothing", async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const cursor = await scene.at(session, 0, 0);
      const last = scene.attempt(session, [notification(0, "n")]);
      await scene.log.close();
      await scene.log.close();
      // What was committed before is done.
      expect(await last).toMatchObject({ kind: "committed" });
      const closed = { name: "LogError", code: "ERR_LOG_CLOSED" };
      await expect(scene.attempt(session, [notification(0, "n")])).rejects.toMatchObject(closed);
      await expect(scene.read(session, cursor)).rejects.toMatchObject(closed);
      await expect(scene.log.session(session)).rejects.toMatchObject(closed);
      await expect(scene.log.stream(session, 0)).rejects.toMatchObject(closed);
      await expect(scene.log.running(session)).rejects.toMatchObject(closed);
      await expect(scene.log.claim("all", "k")).rejects.toMatchObject(closed);
      const limits = { idleTtlMs: 1, unusedTtlMs: 1, touchLagMs: 0, sessions: 1 };
      await expect(scene.log.rested(limits)).rejects.toMatchObject(closed);
      await expect(scene.log.liveSessions()).rejects.toMatchObject(closed);
      await expect(scene.log.sweep()).rejects.toMatchObject(closed);
      await scene.reopen();
      expect(await scene.texts(session, cursor)).toEqual(["n"]);
    });
  });
}
