/** Chapter: an older copy put back. Cursors from what it lacks are refused, for ever. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness, LogPlace } from "./harness.ts";
import { numbered, openScene } from "./scene.ts";

export function olderCopy<Place extends LogPlace>(
  harness: LogHarness<Place>,
  copy: NonNullable<LogHarness<Place>["copy"]>,
): void {
  describe("an older copy put back", () => {
    test(`${verifies("E-02", "R-05", "R-08")}what it lacks is a gap, also when the head has passed it again`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const kept = await scene.note(session, 1, ...numbered(1, 3));
      await scene.log.close();
      const putBack = await copy(scene.place as Place);

      await scene.reopen();
      const lost = await scene.note(session, 1, ...numbered(4, 6));
      const lostStream = await scene.open(session, 2);
      await scene.log.close();
      await putBack();

      await scene.reopen();
      const refuse = async () => {
        for (const cursor of lost) {
          expect(await scene.read(session, cursor)).toMatchObject({
            kind: "gap",
            gap: { lostEvents: null },
          });
        }
        expect(await scene.read(session, lostStream)).toMatchObject({ kind: "gap" });
      };
      await refuse();
      const again = await scene.note(session, 1, "other 4", "other 5", "other 6", "other 7");
      await scene.open(session, 2);
      expect(again.map(({ position }) => position)).toEqual([4, 5, 6, 7]);
      await refuse();
      await scene.reopen();
      await refuse();
      // What the copy has is served to who had seen that much.
      expect(await scene.texts(session, begin)).toEqual([
        ...numbered(1, 3),
        "other 4",
        "other 5",
        "other 6",
        "other 7",
      ]);
      expect(await scene.texts(session, kept[2]!)).toHaveLength(4);
    });
  });
}
