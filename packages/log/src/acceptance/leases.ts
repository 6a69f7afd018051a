/** Chapter of shared logs: who owns a session, and for how long. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../event-log.ts";
import type { LogPlace } from "./harness.ts";
import { type NodesHarness, nth, openNodes } from "./nodes-scene.ts";
import { notification } from "./scene.ts";

export function leases<Place extends LogPlace>(harness: NodesHarness<Place>): void {
  describe("leases", () => {
    test(`${verifies("N-02")}who creates a session owns it, and nobody else may`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      const holding = { owner: a.shared.node, fence: 1, inbox: 0, calls: 0, streams: 0 };
      expect(await b.log.session(session)).toMatchObject({ holding });
      expect(await b.shared.acquire(session)).toEqual({ kind: "held", owner: a.shared.node });
      // Asked again by its owner, nothing changes.
      const mine = { kind: "owned", fence: 1, isTakenOver: false };
      expect(await a.shared.acquire(session)).toEqual(mine);
      const nobody = await b.shared.acquire("nobody" as SessionId);
      expect(nobody).toEqual({ kind: "absent" });
      await a.commit(session, 1, { op: "end", reason: "deleted" });
      expect(await a.shared.acquire(session)).toEqual({ kind: "absent" });
    });

    test(`${verifies("N-02", "N-03")}a session is free when the lease of its owner is over, not before`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      expect(await a.shared.renew()).toBe(true);
      expect(await b.shared.acquire(session)).toMatchObject({ kind: "held" });
      await all.leases(2);
      expect(await a.shared.nodes()).toEqual([]);
      // Over is over, noticed or not: it cannot be renewed.
      expect(await b.shared.renew()).toBe(false);
      const before = b.shared.node;
      await b.shared.rejoin();
      expect(b.shared.node).not.toBe(before);
      expect(await b.shared.nodes()).toEqual([b.shared.node]);
      expect(await b.shared.acquire(session)).toEqual({
        kind: "owned",
        fence: 2,
        isTakenOver: true,
      });
      expect(await a.shared.renew()).toBe(false);
      await a.shared.rejoin();
      expect(await a.shared.acquire(session)).toEqual({ kind: "held", owner: b.shared.node });
      expect(new Set(await a.shared.nodes())).toEqual(new Set([a.shared.node, b.shared.node]));
    });

    test(`${verifies("N-02", "D-02")}who leaves frees everything at once, and the others are told`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const sessions = [await a.create("one"), await a.create("two")];
      const told = Promise.withResolvers<void>();
      const leave = b.shared.followNodes(() => told.resolve());
      await a.shared.leave();
      await told.promise;
      leave();
      leave();
      expect(await b.shared.nodes()).toEqual([b.shared.node]);
      for (const session of sessions) {
        expect(await b.shared.acquire(session)).toMatchObject({ kind: "owned", fence: 2 });
      }
      // A node that is closed has left.
      await b.log.close();
      await a.shared.rejoin();
      expect(await a.shared.acquire(sessions[0]!)).toMatchObject({ kind: "owned", fence: 3 });
    });

    test(`${verifies("N-02")}a released session is free; a late release changes nothing`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.shared.release(session, 1);
      expect((await a.log.session(session))?.holding).toMatchObject({ owner: undefined, fence: 1 });
      expect(await b.own(session)).toBe(2);
      await a.shared.release(session, 1);
      expect(await a.shared.acquire(session)).toMatchObject({ kind: "held" });
      // Released by its owner and taken back by it: another fence all the same.
      await b.shared.release(session, 2);
      expect(await b.own(session)).toBe(3);
    });

    test(`${verifies("N-02")}of many that want a session at once, one has it`, async () => {
      const all = await openNodes(harness, 3);
      const [first] = [nth(all, 0)];
      const session = await first.create("a");
      await first.shared.release(session, 1);
      const asked = await Promise.all(all.nodes.map(({ shared }) => shared.acquire(session)));
      const owner = asked.findIndex(({ kind }) => kind === "owned");
      expect(asked.map(({ kind }) => kind === "owned")).toEqual(
        all.nodes.map((_, i) => i === owner),
      );
      expect(asked[owner]).toMatchObject({ fence: 2 });
    });

    test(`${verifies("E-02", "N-03")}each take-over begins an incarnation, and old cursors still count`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      const [one] = placesOf(await a.commit(session, 1, notification(0, "one")));
      await a.shared.release(session, 1);
      const fence = await b.own(session);
      const [two] = placesOf(await b.commit(session, fence, notification(0, "two")));
      expect(two?.incarnation).not.toBe(one?.incarnation);
      expect(two?.position).toBe(2);
      expect(await a.log.read(session, one!, { events: 9, bytes: 999 })).toMatchObject({
        kind: "events",
        events: [{ text: "two", place: two }],
      });
      // The same position, appended by who had lost the session: never was.
      const never = { ...two!, incarnation: one!.incarnation };
      const refused = await a.log.read(session, never, { events: 9, bytes: 999 });
      expect(refused).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
    });
  });
}

function placesOf(outcome: Awaited<ReturnType<ReturnType<typeof nth>["commit"]>>) {
  if (outcome.kind !== "committed") throw new Error(`not committed but ${outcome.kind}`);
  return outcome.appended;
}
