/** Chapter: many commits at once. */
import { type SeededRandom, seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { notification, numbered, openScene, response } from "./scene.ts";

export function concurrent(harness: LogHarness): void {
  describe("concurrent commits", () => {
    test(`${verifies("E-08")}commits of a session take effect in the order of their calls`, async () => {
      const scene = await openScene(harness, { maxEvents: 10_000 });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const appended = await Promise.all(
        numbered(1, 2_500).map((text) => scene.note(session, 1, text)),
      );
      expect(appended.map(([place]) => place?.position)).toEqual(
        Array.from({ length: 2_500 }, (_, i) => i + 1),
      );
      expect(await scene.texts(session, begin)).toEqual(numbered(1, 2_500));
    });

    test(`${verifies("E-01", "E-10", "c013")}calls in flight in many sessions keep apart`, async () => {
      const random = seededRandom(testSeed("calls in flight"));
      const scene = await openScene(harness, { maxEvents: 10_000 });
      const sessions = await Promise.all(
        Array.from({ length: 10 }, (_, i) => scene.create(`session ${i}`)),
      );
      const calls = sessions.flatMap((session) =>
        Array.from({ length: 20 }, (_, i) => ({ session, stream: i + 1 })),
      );
      // Streams are opened in order within a session, and answered in any.
      const opened = await Promise.all(
        calls.map(({ session, stream }) => scene.open(session, stream)),
      );
      await Promise.all(
        random.shuffle([...calls.keys()]).map(async (i) => {
          const { session, stream } = calls[i]!;
          for (let n = 1; n <= 3; n += 1) {
            await turns(random);
            await scene.commit(session, notification(stream, `${session} ${stream} ${n}`));
          }
          await scene.commit(session, response(stream, `${session} ${stream} r`));
        }),
      );
      for (const [i, { session, stream }] of calls.entries()) {
        const expected = ["1", "2", "3", "r"].map((what) => `${session} ${stream} ${what}`);
        expect(await scene.texts(session, opened[i]!)).toEqual(expected);
      }
    });

    test(`${verifies("S-08")}what comes after the end in the same turn is refused`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const outcomes = await Promise.all([
        scene.attempt(session, [notification(0, "before")]),
        scene.attempt(session, [{ op: "end", reason: "deleted" }]),
        scene.attempt(session, [notification(0, "after")]),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["committed", "committed", "absent"]);
    });
  });
}

/** Up to three turns of the event loop. */
export async function turns(random: SeededRandom): Promise<void> {
  for (let n = random.int(0, 3); n > 0; n -= 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
