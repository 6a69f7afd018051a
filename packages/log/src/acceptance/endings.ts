/** Chapter: sessions that are over: readable for a minute, a tombstone for a day, then nothing. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { numbered, openScene } from "./scene.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export function endings(harness: LogHarness): void {
  describe("endings", () => {
    test(`${verifies("S-04", "S-08", "D-01")}an ended session is shown, purged, remembered, forgotten`, async () => {
      const scene = await openScene(harness, { windowMs: 10 * minuteMs });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      await scene.note(session, 1, ...numbered(1, 3));
      await scene.commit(session, { op: "end", reason: "expired" });
      expect(await scene.attempt(session, [{ op: "end", reason: "deleted" }])).toEqual({
        kind: "absent",
      });

      scene.clock.advance(minuteMs - 1);
      await scene.sweep();
      expect(await scene.texts(session, begin)).toEqual(numbered(1, 3));

      scene.clock.advance(1);
      await scene.sweep();
      expect(await scene.read(session, begin)).toEqual({ kind: "absent" });
      expect(await scene.log.stream(session, 1)).toBeUndefined();
      const tombstone = {
        session,
        ended: "expired",
        principal: "owner of a",
        data: "",
        nextStream: 0,
      };
      expect(await scene.log.session(session)).toMatchObject(tombstone);
      expect(scene.evictions).toEqual([]);

      await scene.reopen();
      scene.clock.advance(dayMs - minuteMs - 1);
      await scene.sweep();
      expect(await scene.log.session(session)).toMatchObject(tombstone);
      await expect(scene.create("a")).rejects.toMatchObject({ name: "AssertionError" });

      scene.clock.advance(1);
      await scene.sweep();
      expect(await scene.log.session(session)).toBeUndefined();
    });

    test(`${verifies("S-08")}a large session is purged in bounded steps, another is left alone`, async () => {
      const scene = await openScene(harness, { maxEvents: 10_000, windowMs: dayMs });
      const [gone, stays] = [await scene.create("gone"), await scene.create("stays")];
      const begin = await scene.open(stays, 1);
      await scene.note(stays, 1, ...numbered(1, 3));
      await scene.note(gone, 0, ...numbered(1, 1_600));
      for (let stream = 1; stream <= 700; stream += 1) await scene.open(gone, stream);
      await scene.commit(gone, { op: "end", reason: "deleted" });
      scene.clock.advance(minuteMs);
      await scene.sweep();
      const cursor = { ...begin, tag: (await scene.log.session(gone))?.tag ?? "" };
      expect(await scene.read(gone, { ...cursor, stream: 0 })).toEqual({ kind: "absent" });
      expect(await scene.texts(stays, begin)).toEqual(numbered(1, 3));
      expect(await scene.log.sweep()).toEqual({ isBehind: false });
    });
  });
}
