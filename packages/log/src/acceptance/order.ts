/** Chapter: order. Each stream is its own sequence; what is read is what was appended, in order. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import {
  eventsOf,
  notification,
  numbered,
  openScene,
  response,
  standaloneStream,
} from "./scene.ts";

export function order(harness: LogHarness): void {
  describe("order", () => {
    test(`${verifies("E-01", "E-02")}positions count each stream from 1 without holes`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      await scene.open(session, 2);
      const places = await scene.commit(
        session,
        notification(1, "a"),
        notification(2, "b"),
        notification(standaloneStream, "c"),
        notification(1, "d"),
        response(2, "e"),
      );
      expect(places.map(({ stream, position }) => [stream, position])).toEqual([
        [1, 1],
        [2, 1],
        [0, 1],
        [1, 2],
        [2, 2],
      ]);
    });

    test(`${verifies("E-08", "R-01")}a stream shows its own events alone, oldest first`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const one = await scene.open(session, 1);
      const two = await scene.open(session, 2);
      for (let i = 1; i <= 50; i += 1) {
        await scene.note(session, 1, `one ${i}`);
        await scene.note(session, 2, `two ${i}`);
      }
      const expected = (name: string) => Array.from({ length: 50 }, (_, i) => `${name} ${i + 1}`);
      expect(await scene.texts(session, one)).toEqual(expected("one"));
      expect(await scene.texts(session, two)).toEqual(expected("two"));
      expect(await scene.texts(session, await scene.at(session, 1, 48))).toEqual([
        "one 49",
        "one 50",
      ]);
    });

    test(`${verifies("E-08")}pages of any size make the same sequence`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      await scene.note(session, 1, ...numbered(1, 30));
      for (const limit of [
        { events: 1, bytes: 1_000 },
        { events: 7, bytes: 1_000 },
        { events: 100, bytes: 0 },
        { events: 100, bytes: 5 },
        { events: 100, bytes: 1_000 },
      ]) {
        const shown: string[] = [];
        let cursor = begin;
        for (;;) {
          const events = eventsOf(await scene.read(session, cursor, limit));
          const last = events.at(-1);
          if (last === undefined) break;
          expect(events.length).toBeLessThanOrEqual(limit.events);
          if (events.length > 1) {
            const bytes = events.reduce((sum, event) => sum + event.text.length, 0);
            expect(bytes).toBeLessThanOrEqual(limit.bytes);
          }
          shown.push(...events.map((event) => event.text));
          cursor = last.place;
        }
        expect(shown).toEqual(numbered(1, 30));
      }
    });

    test(`${verifies("E-12", "E-07", "c036")}text comes back as it went in`, async () => {
      const scene = await openScene(harness, { maxBytes: 100_000_000 });
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const texts = [
        "",
        "\u0000 NUL \u0000",
        "\uFEFF byte order mark",
        "\r \n \r\n \u2028 \u2029 \u0085",
        "emoji 🧷 and 12345678901234567890.10",
        '{"a":1e400,"b":"\\u0000\\ud800"}',
        "ü".repeat(70_000),
        "x".repeat(8 * 1024 * 1024),
      ];
      for (const one of texts) await scene.note(session, 1, one);
      // Once as a follower may see them, once from the store.
      expect(await scene.texts(session, begin)).toEqual(texts);
      await scene.reopen();
      expect(await scene.texts(session, begin)).toEqual(texts);
    });

    test(`${verifies("E-02", "c011")}sessions with the same streams share nothing`, async () => {
      const scene = await openScene(harness);
      const [a, b] = [await scene.create("a"), await scene.create("b")];
      const inA = await scene.open(a, 1);
      const inB = await scene.open(b, 1);
      await scene.note(a, 1, "secret of a");
      await scene.note(b, 1, "secret of b");
      expect(await scene.texts(a, inA)).toEqual(["secret of a"]);
      expect(await scene.texts(b, inB)).toEqual(["secret of b"]);
      await scene.commit(b, { op: "end", reason: "deleted" });
      expect(await scene.read(a, inB)).toEqual({ kind: "foreign" });
      expect(await scene.texts(a, inA)).toEqual(["secret of a"]);
    });
  });
}
