/** Chapter: exact eviction, per stream, of a prefix. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { numbered, openScene } from "./scene.ts";

export function prefix(harness: LogHarness): void {
  describe("exact per-stream eviction of a prefix", () => {
    test(`${verifies("R-03", "c006", "c007")}refused is exactly who missed an event`, async () => {
      const scene = await openScene(harness, { maxEvents: 100 });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const places = [begin, ...(await scene.note(session, 1, ...numbered(1, 140)))];
      for (const cursor of places) {
        const outcome = await scene.read(session, cursor);
        if (cursor.position < 40) {
          expect(outcome).toEqual({
            kind: "gap",
            gap: {
              stream: 1,
              requested: cursor,
              oldest: places[40],
              head: places[140],
              lostEvents: 40 - cursor.position,
              retained: places[40],
            },
          });
        } else {
          expect(outcome.kind).toBe("events");
          expect(await scene.texts(session, cursor)).toEqual(numbered(cursor.position + 1, 140));
        }
      }
    });

    test(`${verifies("R-03")}a loss on one stream refuses no other`, async () => {
      const scene = await openScene(harness, { maxEvents: 10 });
      const session = await scene.create("a");
      const quiet = await scene.open(session, 1);
      await scene.open(session, 2);
      await scene.answer(session, 1, "r");
      await scene.note(session, 2, ...numbered(1, 200));
      expect(await scene.texts(session, quiet)).toEqual(["r"]);
      const standalone = await scene.at(session, 0, 0);
      expect(await scene.read(session, standalone)).toEqual({ kind: "events", events: [] });
    });

    test(`${verifies("R-04")}both places of a gap are cursors, and bring all that is retained`, async () => {
      const scene = await openScene(harness, { maxEvents: 5 });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      await scene.note(session, 1, ...numbered(1, 12));
      const outcome = await scene.read(session, begin);
      if (outcome.kind !== "gap") throw new Error(outcome.kind);
      const { oldest, head } = outcome.gap;
      expect(await scene.texts(session, oldest)).toEqual(numbered(8, 12));
      expect(await scene.texts(session, head)).toEqual([]);
    });

    test(`${verifies("W-03")}a response shields what follows it in its stream`, async () => {
      const scene = await openScene(harness, { maxEvents: 3 });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1, 2);
      await scene.note(session, 1, "n1");
      await scene.answer(session, 1, "r0", 0);
      await scene.note(session, 1, "n3", "n4", "n5", "n6", "n7");
      // n1 could go; nothing behind the response may.
      expect(await scene.texts(session, await scene.at(session, 1, 1))).toEqual([
        "r0",
        ...numbered(3, 7),
      ]);
      expect(await scene.read(session, begin)).toMatchObject({ gap: { lostEvents: 1 } });
      // The shielded ones count, so that another stream keeps nothing …
      await scene.note(session, 0, "s1");
      expect(await scene.state(session, 0)).toMatchObject({ head: 1, evictedThrough: 1 });
      await scene.reopen();
      await scene.note(session, 0, "s2");
      expect(await scene.state(session, 0)).toMatchObject({ head: 2, evictedThrough: 2 });
      // … until the stream's window has passed.
      await scene.answer(session, 1, "r1", 1);
      scene.clock.advance(60_000);
      await scene.sweep();
      await scene.note(session, 0, "s3", "s4", "s5");
      expect(await scene.state(session, 0)).toMatchObject({ head: 5, evictedThrough: 2 });
      expect(await scene.state(session, 1)).toMatchObject({ head: 8, evictedThrough: 8 });
    });

    test(`${verifies("W-03", "W-04")}half swept, a stream no longer shields what is left of it`, async () => {
      const scene = await openScene(harness, { maxEvents: 600, windowMs: 1_000 });
      const session = await scene.create("a");
      await scene.open(session, 1, 2);
      await scene.answer(session, 1, "r0", 0);
      await scene.note(session, 1, ...numbered(1, 700));
      await scene.answer(session, 1, "r1", 1);
      scene.clock.advance(1_000);
      await scene.log.sweep();
      // Over the cap again, if the step has left some of it.
      await scene.note(session, 0, ...numbered(1, 590));
      expect(await scene.state(session, 0)).toMatchObject({ head: 590, evictedThrough: 0 });
      expect(scene.evictions.every(({ isBreach }) => !isBreach)).toBe(true);
    });

    test(`${verifies("R-03", "E-02")}what is lost is counted also for cursors of old incarnations`, async () => {
      const scene = await openScene(harness, { maxEvents: 2 });
      const session = await scene.create("a");
      const old = [await scene.at(session, 0, 0)];
      for (let i = 1; i <= 12; i += 1) {
        old.push(...(await scene.note(session, 0, `n${i}`)));
        await scene.reopen();
      }
      for (const cursor of old.slice(0, 10)) {
        expect(await scene.read(session, cursor)).toMatchObject({
          kind: "gap",
          gap: { lostEvents: 10 - cursor.position },
        });
      }
      for (const cursor of old.slice(10)) {
        expect(await scene.texts(session, cursor)).toEqual(numbered(cursor.position + 1, 12));
      }
    });
  });
}
