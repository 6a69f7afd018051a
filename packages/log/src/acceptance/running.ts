/** Chapter: what runs. Calls that nobody runs after a restart, and how many sessions are live. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { Op, SessionId } from "../event-log.ts";
import type { LogHarness } from "./harness.ts";
import { creation, opening, openScene, response, type Scene } from "./scene.ts";

export function running(harness: LogHarness): void {
  describe("running calls", () => {
    test(`${verifies("X-05", "S-07")}streams with a running call are told, as they are`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      for (const [stream, calls] of [
        [1, 1],
        [2, 3],
        [3, 1],
        [4, 2],
        [5, 1],
      ] as const) {
        await scene.open(session, stream, calls);
      }
      await scene.note(session, 1, "n");
      await scene.answer(session, 2, "r", 2);
      await scene.answer(session, 3, "r");
      await scene.answer(session, 4, "r", 1);
      await scene.commit(session, { op: "cancel", stream: 4, call: 0 });
      await scene.commit(session, { op: "cancel", stream: 2, call: 0 });
      for (let i = 0; i < 2; i += 1) {
        expect(await numbers(scene, session)).toEqual([1, 2, 5]);
        for (const state of await scene.log.running(session)) {
          expect(state).toEqual(await scene.state(session, state.stream));
        }
        await scene.reopen();
      }
      await scene.answer(session, 2, "r", 1);
      await scene.answer(session, 5, "r");
      expect(await numbers(scene, session)).toEqual([1]);
      const other = await scene.create("b");
      expect(await numbers(scene, other)).toEqual([]);
      expect(await numbers(scene, "nobody" as SessionId)).toEqual([]);
    });

    test(`${verifies("X-05")}among many that are finished, evicted or not, each is found`, async () => {
      const scene = await openScene(harness, { windowMs: 1_000 });
      const session = await scene.create("a");
      const kept = new Set([1, 2, 255, 256, 257, 511, 700, 1_500]);
      const rise = async (from: number, to: number) => {
        for (let stream = from; stream <= to; stream += 1) {
          const answer = kept.has(stream) ? [] : [response(stream, "r")];
          await scene.commit(session, opening(stream), ...answer);
        }
      };
      await rise(1, 800);
      expect(await numbers(scene, session)).toEqual([1, 2, 255, 256, 257, 511, 700]);
      await scene.answer(session, 256, "late");
      scene.clock.advance(1_000);
      await scene.sweep();
      expect(await numbers(scene, session)).toEqual([1, 2, 255, 257, 511, 700]);
      await scene.reopen();
      await rise(801, 1_600);
      // Numbers may be left out.
      await scene.open(session, 10_000);
      expect(await numbers(scene, session)).toEqual([1, 2, 255, 257, 511, 700, 1_500, 10_000]);
      await scene.commit(session, { op: "cancel", stream: 1, call: 0 });
      await scene.answer(session, 700, "late");
      await scene.reopen();
      expect(await numbers(scene, session)).toEqual([2, 255, 257, 511, 1_500, 10_000]);
    });

    test(`${verifies("S-08")}a session that is purged has none`, async () => {
      const scene = await openScene(harness);
      const session = await scene.create("a");
      await scene.open(session, 1);
      await scene.commit(session, { op: "end", reason: "deleted" });
      scene.clock.advance(60_000);
      await scene.sweep();
      expect(await scene.log.running(session)).toEqual([]);
    });
  });

  describe("live sessions", () => {
    test(`${verifies("P-02", "S-06")}are counted, of each principal and in all`, async () => {
      const scene = await openScene(harness);
      const count = async () => [
        await scene.log.liveSessions(),
        await scene.log.liveSessions("alice"),
        await scene.log.liveSessions("bob"),
        await scene.log.liveSessions(""),
      ];
      expect(await count()).toEqual([0, 0, 0, 0]);
      for (const [name, principal] of [
        ["a", "alice"],
        ["b", "alice"],
        ["c", "bob"],
        ["d", ""],
      ] as const) {
        await scene.commit(name as SessionId, of(principal, name));
      }
      expect(await count()).toEqual([4, 2, 1, 1]);
      await scene.commit("b" as SessionId, { op: "end", reason: "expired" });
      // Twice the same, mistakes, what is not there: none counts.
      await scene.attempt("b" as SessionId, [{ op: "end", reason: "expired" }]);
      await scene.attempt("nobody" as SessionId, [{ op: "end", reason: "expired" }]);
      await expect(scene.attempt("c" as SessionId, [of("bob", "c")])).rejects.toThrow();
      const mistake = [of("bob", "e"), response(9, "nowhere")];
      await expect(scene.attempt("e" as SessionId, mistake)).rejects.toThrow();
      await scene.commit("f" as SessionId, of("bob", "f"), { op: "end", reason: "ended" });
      const again = await scene.attempt("g" as SessionId, [of("bob", "g")], "once");
      expect(await scene.attempt("g" as SessionId, [of("bob", "g")], "once")).toEqual(again);
      expect(await count()).toEqual([4, 1, 2, 1]);
      await scene.reopen();
      expect(await count()).toEqual([4, 1, 2, 1]);
      scene.clock.advance(24 * 60 * 60_000);
      await scene.sweep();
      await scene.reopen();
      await scene.commit("d" as SessionId, { op: "end", reason: "expired" });
      expect(await count()).toEqual([3, 1, 2, 0]);
    });
  });
}

async function numbers(scene: Scene, session: SessionId): Promise<readonly number[]> {
  return (await scene.log.running(session)).map(({ stream }) => stream);
}

function of(principal: string, name: string): Op {
  return { ...(creation(name) as Extract<Op, { op: "create" }>), principal };
}
