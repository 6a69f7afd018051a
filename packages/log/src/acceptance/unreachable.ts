/** Chapter of shared logs: a store that is out of reach, and messages between nodes that are lost. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { follow } from "./across.ts";
import type { LogPlace, SharedHarness } from "./harness.ts";
import { type NodesHarness, nth, openNodes, send, textsOf } from "./nodes-scene.ts";
import { creation, notification, numbered, opening, response } from "./scene.ts";

export function unreachable<Place extends LogPlace>(
  harness: NodesHarness<Place>,
  cut: NonNullable<SharedHarness<Place>["cut"]>,
): void {
  describe("store out of reach", () => {
    test(`${verifies("N-05")}everything is refused by name, nothing acknowledged is lost, and it is back by itself`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.commit(session, 1, opening(1), notification(1, "before"));
      const heal = await cut(all.place, a.log);
      const away = { name: "LogError", code: "ERR_LOG_UNAVAILABLE" };
      const late = { id: "late", fence: 1, ops: [notification(1, "late")] };
      const asked = [
        a.log.commit(session, late),
        a.read(session, 1),
        a.log.session(session),
        a.log.stream(session, 1),
        a.log.running(session),
        a.log.claim("all", "k"),
        a.log.liveSessions(),
        a.log.sweep(),
        a.shared.renew(),
        a.shared.nodes(),
        a.shared.acquire(session),
        a.shared.release(session, 1),
        a.shared.take(session, 1, 0, { events: 1, bytes: 1 }),
      ];
      for (const one of await Promise.allSettled(asked)) {
        expect(one).toMatchObject({ status: "rejected", reason: away });
      }
      // The others are not concerned.
      expect(await b.read(session, 1)).toMatchObject({ events: [{ text: "before" }] });
      await b.commit(session, 0, send("meanwhile"));
      await heal();
      const texts = async () => {
        const read = await a.read(session, 1);
        return read.kind === "events" ? read.events.map(({ text }) => text) : [];
      };
      expect(await a.log.commit(session, late)).toMatchObject({ kind: "committed" });
      expect(await a.log.commit(session, late)).toMatchObject({ kind: "committed" });
      expect(await texts()).toEqual(["before", "late"]);
      expect(textsOf(await a.take(session, 1))).toEqual(["meanwhile"]);
    });

    test(`${verifies("N-05", "N-02")}who was away while its session was taken over is fenced when it is back`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.commit(session, 1, opening(1));
      const heal = await cut(all.place, a.log);
      const late = { id: "late", fence: 1, ops: [notification(1, "late")] };
      await expect(a.log.commit(session, late)).rejects.toMatchObject({
        code: "ERR_LOG_UNAVAILABLE",
      });
      await all.leases(2);
      await b.shared.rejoin();
      const fence = await b.own(session);
      await b.commit(session, fence, response(1, "closed by b"));
      await heal();
      expect(await a.log.commit(session, late)).toEqual({ kind: "fenced" });
      expect(await a.shared.renew()).toBe(false);
      expect(await a.log.stream(session, 1)).toMatchObject({ head: 1, isFinished: true });
    });
  });
}

export function lostWakes<Place extends LogPlace>(
  harness: NodesHarness<Place>,
  mute: NonNullable<SharedHarness<Place>["mute"]>,
): void {
  describe("lost messages between nodes", () => {
    test(`${verifies("N-01", "E-08")}a reader and an owner hear of everything all the same`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      const opened = await a.commit(session, 1, opening(1));
      const begin = opened.kind === "committed" ? opened.begun[0] : undefined;
      const speak = await mute(all.place);
      const reading = follow(b, session, begin!);
      const told = Promise.withResolvers<void>();
      a.shared.followInbox(() => told.resolve());
      await b.commit(session, 0, send("hear me"));
      await told.promise;
      expect(textsOf(await a.take(session, 1))).toEqual(["hear me"]);
      for (const text of numbered(1, 3)) await a.commit(session, 1, notification(1, text));
      await a.commit(session, 1, response(1, "end"));
      expect(await reading).toEqual([...numbered(1, 3), "end"]);
      await speak();
      expect(await b.commit("b" as typeof session, 0, creation("b"))).toMatchObject({
        kind: "committed",
      });
    });
  });
}
