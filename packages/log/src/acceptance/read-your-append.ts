/** Chapter: what was acknowledged is there, and who follows is woken. */
import { verifies, within } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { LogHarness } from "./harness.ts";
import { numbered, openScene, response, standaloneStream } from "./scene.ts";

export function readYourAppend(harness: LogHarness): void {
  describe("read your append", () => {
    test(`${verifies("E-03", "E-04")}an acknowledged event is read, followed or not`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      for (let i = 1; i <= 20; i += 1) {
        // Followed half of the time: what is kept at hand must agree with what is stored.
        const leave = i % 4 < 2 ? scene.log.follow(session, 1, () => {}) : () => {};
        const [place] = await scene.note(session, 1, `n${i}`);
        expect(await scene.texts(session, begin)).toEqual(numbered(1, i));
        expect(await scene.texts(session, await scene.at(session, 1, i - 1))).toEqual([`n${i}`]);
        expect(await scene.read(session, place!)).toEqual({ kind: "events", events: [] });
        leave();
      }
    });

    test(`${verifies("E-08")}a follower is woken after what it follows, and not otherwise`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      await scene.open(session, 2);
      let woken = 0;
      let wake: () => void = () => {};
      const nextWake = () => {
        const before = woken;
        return within(
          new Promise<void>((resolve) => {
            wake = () => {
              if (woken > before) resolve();
            };
            wake();
          }),
          "a wake",
        );
      };
      const leave = scene.log.follow(session, 1, () => {
        woken += 1;
        wake();
      });

      let next = nextWake();
      await scene.note(session, 1, "a");
      await next;
      expect(await scene.state(session, 1)).toMatchObject({ head: 1 });

      const before = woken;
      await scene.note(session, 2, "other stream");
      await scene.note(session, standaloneStream, "other stream");
      await scene.commit(session, { op: "written", stream: 1, position: 1 });
      await scene.commit(session, { op: "record", data: "other" });
      // Wakes come in order: one that follows would come after any of those.
      next = nextWake();
      await scene.commit(session, { op: "cancel", stream: 1, call: 0 });
      await next;
      expect(woken).toBe(before + 1);

      next = nextWake();
      await scene.commit(session, { op: "end", reason: "ended" });
      await next;

      leave();
      leave();
    });

    test(`${verifies("E-08")}who left is not woken; another on the same stream is`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      const woken: string[] = [];
      const leave = scene.log.follow(session, 1, () => void woken.push("gone"));
      const other = new Promise<void>((resolve) => {
        scene.log.follow(session, 1, () => {
          woken.push("there");
          resolve();
        });
      });
      leave();
      await scene.note(session, 1, "a");
      await within(other, "a wake");
      expect(woken).toEqual(["there"]);
    });

    test(`${verifies("E-10", "R-06")}a response stays; the stream's end says finished`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const begin = await scene.open(session, 1);
      const place = await scene.answer(session, 1, "result");
      expect(await scene.texts(session, begin)).toEqual(["result"]);
      expect(await scene.texts(session, begin)).toEqual(["result"]);
      expect(await scene.read(session, place)).toEqual({ kind: "finished" });
      expect(await scene.state(session, 1)).toMatchObject({
        isFinished: true,
        calls: [{ id: "10", state: "answered", position: 1 }],
      });
    });

    test(`${verifies("X-01", "R-06")}a stream of calls ends with its last one, answered or not`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1, 3);
      const first = await scene.answer(session, 1, "second", 1);
      await scene.commit(session, { op: "cancel", stream: 1, call: 0 });
      expect(await scene.read(session, first)).toEqual({ kind: "events", events: [] });
      const last = await scene.answer(session, 1, "third", 2);
      expect(await scene.read(session, last)).toEqual({ kind: "finished" });
      const begin = await scene.open(session, 2);
      await scene.commit(session, { op: "cancel", stream: 2, call: 0 });
      expect(await scene.read(session, begin)).toEqual({ kind: "finished" });
      await scene.reopen();
      expect((await scene.state(session, 1)).calls).toMatchObject([
        { state: "cancelled" },
        { state: "answered", position: 1 },
        { state: "answered", position: 2 },
      ]);
      expect(await scene.read(session, begin)).toEqual({ kind: "finished" });
    });

    test("what makes no sense is refused, and changes nothing", async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      await scene.answer(session, 1, "result");
      const before = await scene.state(session, 1);
      for (const op of [
        { op: "append", stream: 1, kind: "notification", text: "late" },
        response(1, "again"),
        response(1, "no such call", 5),
        { op: "cancel", stream: 1, call: 0 },
        { op: "open", stream: 1, calls: [] },
        { op: "open", stream: 7, calls: [] },
        { op: "append", stream: 9, kind: "request", text: "nowhere" },
        { op: "written", stream: 1, position: 2 },
        { op: "create", tag: "0000000000000000", principal: "", data: "" },
      ] as const) {
        const first = { op: "append", stream: 0, kind: "notification", text: "with it" } as const;
        const ops = op.op === "create" ? [op] : [first, op];
        await expect(scene.attempt(session, ops)).rejects.toMatchObject({ name: "AssertionError" });
      }
      expect(await scene.state(session, 1)).toEqual(before);
      expect((await scene.state(session, 0)).head).toBe(0);
    });
  });
}
