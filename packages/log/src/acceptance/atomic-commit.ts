/** Chapter: a commit is all or nothing, and once, however often its reply is lost. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../event-log.ts";
import type { LogHarness } from "./harness.ts";
import { creation, notification, numbered, opening, openScene, response } from "./scene.ts";

export function atomicCommit(harness: LogHarness): void {
  describe("atomic commit and lost reply", () => {
    test(`${verifies("S-01")}a session begins with whatever is in its first commit`, async () => {
      const scene = await openScene(harness);
      const session = "a" as SessionId;
      const outcome = await scene.attempt(session, [
        creation("a"),
        opening(1),
        notification(0, "n"),
        response(1, "r"),
      ]);
      expect(outcome).toMatchObject({
        kind: "committed",
        begun: [
          { stream: 0, position: 0 },
          { stream: 1, position: 0 },
        ],
        appended: [
          { stream: 0, position: 1 },
          { stream: 1, position: 1 },
        ],
      });
      const { holding: _, ...state } = (await scene.log.session(session)) ?? {};
      expect(state).toEqual({
        session: "a",
        tag: expect.stringMatching(/^[0-9a-f]{16}$/),
        principal: "owner of a",
        data: "data of a",
        createdAtMs: scene.clock.wallMs(),
        nextStream: 2,
      });
      await scene.commit(session, { op: "record", data: "other" });
      await scene.reopen();
      expect(await scene.log.session(session)).toMatchObject({ data: "other", nextStream: 2 });
    });

    test(`${verifies("S-04")}an unknown session takes nothing and is not made`, async () => {
      const scene = await openScene(harness);
      const session = "nobody" as SessionId;
      expect(await scene.attempt(session, [notification(0, "n")])).toEqual({ kind: "absent" });
      expect(await scene.attempt(session, [opening(1)])).toEqual({ kind: "absent" });
      expect(await scene.log.session(session)).toBeUndefined();
      expect(await scene.log.stream(session, 0)).toBeUndefined();
      const cursor = { tag: "0000000000000000", stream: 0, position: 0, incarnation: "aaaaaaaa" };
      expect(await scene.read(session, cursor)).toEqual({ kind: "absent" });
    });

    test("a failing operation takes the whole commit with it", async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      const before = await scene.log.session(session);
      const ops = [
        notification(0, "n"),
        opening(2),
        { op: "record", data: "other" } as const,
        response(1, "r"),
        response(1, "r"),
      ];
      // Beside it, in the same turn, others are not touched.
      const [, failed] = await Promise.allSettled([
        scene.note(session, 1, "before"),
        scene.attempt(session, ops),
        scene.note(session, 1, "after"),
      ]);
      expect(failed).toMatchObject({ status: "rejected" });
      expect(await scene.log.session(session)).toEqual(before);
      expect(await scene.log.stream(session, 2)).toBeUndefined();
      expect((await scene.state(session, 0)).head).toBe(0);
      expect(await scene.texts(session, await scene.at(session, 1, 0))).toEqual([
        "before",
        "after",
      ]);
      expect((await scene.state(session, 1)).isFinished).toBe(false);
    });

    test(`${verifies("c043")}the same id again gives the first outcome and changes nothing`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const ops = [notification(0, "once")];
      const first = await scene.attempt(session, ops, "attempt 1");
      expect(await scene.attempt(session, ops, "attempt 1")).toEqual(first);
      const [second, again] = await Promise.all([
        scene.attempt(session, ops, "attempt 2"),
        scene.attempt(session, ops, "attempt 2"),
      ]);
      expect(again).toEqual(second);
      expect((await scene.state(session, 0)).head).toBe(2);
      for (const text of numbered(3, 8)) {
        await scene.attempt(session, [notification(0, text)], `attempt ${text}`);
      }
      // Eight back, and still known.
      expect(await scene.attempt(session, ops, "attempt 1")).toEqual(first);
      expect((await scene.state(session, 0)).head).toBe(8);
    });

    test(`${verifies("c043", "S-08")}the end of a session, repeated, is still its end`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      const ops = [notification(0, "last"), { op: "end", reason: "deleted" } as const];
      const first = await scene.attempt(session, ops, "the end");
      expect(first).toMatchObject({ kind: "committed" });
      expect(await scene.attempt(session, ops, "the end")).toEqual(first);
      expect(await scene.attempt(session, ops, "another")).toEqual({ kind: "absent" });
      expect((await scene.state(session, 0)).head).toBe(1);
    });
  });
}
