/** Chapter: cursors that are foreign, of no place, or of another incarnation. */
import type { EventPlace } from "@holdfast/contract";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { numbered, openScene, tagOf } from "./scene.ts";

export function cursors(harness: LogHarness): void {
  describe("foreign, malformed and other-incarnation cursors", () => {
    test(`${verifies("R-05", "c006", "c011")}another session's cursor is foreign, whatever else it says`, async () => {
      const scene = await openScene(harness);
      const [a, b] = [await scene.create("a"), await scene.create("b")];
      const inB = await scene.open(b, 1);
      expect(await scene.read(a, inB)).toEqual({ kind: "foreign" });
      expect(await scene.read(a, { ...inB, stream: 77, position: 88 })).toEqual({
        kind: "foreign",
      });
      expect(await scene.read(a, { ...inB, tag: tagOf("nobody") })).toEqual({ kind: "foreign" });
    });

    test(`${verifies("R-05")}a place past the head is a gap that cannot be counted`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      const [head] = await scene.note(session, 1, "n1");
      for (const position of [2, 3, 999_999_999_999_999]) {
        const requested: EventPlace = { ...head!, position };
        expect(await scene.read(session, requested)).toMatchObject({
          kind: "gap",
          gap: { requested, oldest: head, head, lostEvents: null },
        });
      }
      await scene.answer(session, 1, "r");
      expect(await scene.read(session, { ...head!, position: 3 })).toMatchObject({ kind: "gap" });
    });

    test(`${verifies("R-05", "E-02")}a place of another incarnation is a gap, never an event`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      const places = await scene.note(session, 1, ...numbered(1, 3));
      for (const position of [0, 1, 2, 3]) {
        const requested = { ...places[0]!, position, incarnation: "zzzzzzzz" };
        expect(await scene.read(session, requested)).toMatchObject({
          kind: "gap",
          gap: { oldest: { position }, head: places[2], lostEvents: null },
        });
      }
    });

    test(`${verifies("R-05", "R-06")}a stream that was never there: a gap once, then finished`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const requested = { ...(await scene.at(session, 0, 0)), stream: 5, position: 3 };
      const outcome = await scene.read(session, requested);
      expect(outcome).toMatchObject({
        kind: "gap",
        gap: { stream: 5, oldest: { stream: 5, position: 0 }, lostEvents: null },
      });
      if (outcome.kind !== "gap") return;
      expect(await scene.read(session, outcome.gap.oldest)).toEqual({ kind: "finished" });
    });

    test(`${verifies("E-02")}an id of one incarnation stays good under the next`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const first = await scene.note(session, 1, "n1", "n2");
      await scene.reopen();
      const second = await scene.note(session, 1, "n3", "n4");
      expect(second[0]?.incarnation).not.toBe(first[0]?.incarnation);
      expect(await scene.texts(session, begin)).toEqual(numbered(1, 4));
      expect(await scene.texts(session, first[1]!)).toEqual(numbered(3, 4));
      expect(await scene.texts(session, second[0]!)).toEqual(["n4"]);
      const mixed = { ...second[0]!, position: 2 };
      expect(await scene.read(session, mixed)).toMatchObject({
        kind: "gap",
        gap: { oldest: first[1], head: second[1], lostEvents: null },
      });
      // The places that are read carry what the appends returned.
      const outcome = await scene.read(session, begin);
      expect(outcome).toMatchObject({
        events: [...first, ...second].map((place) => ({ place })),
      });
    });
  });
}
