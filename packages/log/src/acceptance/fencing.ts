/** Chapter of shared logs: what the store refuses to who does not own a session. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { Op } from "../event-log.ts";
import type { LogPlace } from "./harness.ts";
import { type NodesHarness, nth, openNodes, send } from "./nodes-scene.ts";
import { notification, opening, response } from "./scene.ts";

const ofTheOwner: readonly Op[] = [
  notification(0, "late"),
  response(1, "late"),
  { op: "cancel", stream: 1, call: 0 },
  { op: "record", data: "late" },
  { op: "end", reason: "ended" },
];

export function fencing<Place extends LogPlace>(harness: NodesHarness<Place>): void {
  describe("fencing", () => {
    test(`${verifies("N-02")}a node that lost a session changes nothing in it`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.commit(session, 1, opening(1));
      await a.shared.release(session, 1);
      const fence = await b.own(session);
      const before = [await b.log.session(session), await b.log.stream(session, 1)];
      for (const op of ofTheOwner) {
        expect(await a.commit(session, 1, op)).toEqual({ kind: "fenced" });
        // Nor together with what it might do.
        expect(await a.commit(session, 1, send("x"), op)).toEqual({ kind: "fenced" });
        expect(await a.commit(session, 0, op)).toEqual({ kind: "fenced" });
        expect(await a.commit(session, 0, send("x"), op)).toEqual({ kind: "fenced" });
        // Nor with a token that nobody has yet.
        expect(await a.commit(session, fence + 1, op)).toEqual({ kind: "fenced" });
      }
      // A token that is shown is checked, whatever it is shown for.
      expect(await a.commit(session, 1, opening(2))).toEqual({ kind: "fenced" });
      expect([await b.log.session(session), await b.log.stream(session, 1)]).toEqual(before);
      expect(await b.commit(session, fence, response(1, "r"))).toMatchObject({ kind: "committed" });
    });

    test(`${verifies("N-02")}two that believe they own a session: one of them appends`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.commit(session, 1, opening(1));
      // As after a lease that ran out unnoticed: both go on at once, in one turn.
      await all.leases(2);
      await b.shared.rejoin();
      const [owned, ...late] = await Promise.all([
        b.own(session),
        ...Array.from({ length: 20 }, (_, i) => a.commit(session, 1, notification(1, `a${i}`))),
      ]);
      const both = await Promise.all(
        Array.from({ length: 20 }, (_, i) => [
          a.commit(session, 1, notification(1, `stale${i}`)),
          b.commit(session, owned, notification(1, `b${i}`)),
        ]).flat(),
      );
      expect(new Set(both.filter((_, i) => i % 2 === 0))).toEqual(
        new Set(
          both.filter((_, i) => i % 2 === 0).map(() => expect.objectContaining({ kind: "fenced" })),
        ),
      );
      const read = await b.read(session, 1);
      const texts = read.kind === "events" ? read.events.map(({ text }) => text) : [];
      const inTime = late.filter(({ kind }) => kind === "committed").length;
      expect(texts).toEqual([
        ...Array.from({ length: inTime }, (_, i) => `a${i}`),
        ...Array.from({ length: 20 }, (_, i) => `b${i}`),
      ]);
    });

    test(`${verifies("N-01")}any node opens streams, attaches, touches, notes what was written`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await a.commit(session, 1, notification(0, "n"));
      const outcome = await b.commit(
        session,
        0,
        opening("next"),
        send("call"),
        { op: "attach", stream: 0, viewer: "viewer" },
        { op: "touch", isUsed: true },
        { op: "written", stream: 0, position: 1 },
      );
      expect(outcome).toMatchObject({
        kind: "committed",
        begun: [{ stream: 1, position: 0 }],
        holding: { owner: a.shared.node, fence: 1, inbox: 1, calls: 1, streams: 1 },
      });
      expect(await a.log.stream(session, 0)).toMatchObject({
        writtenThrough: 1,
        viewer: "viewer",
      });
      expect(await a.read(session, 0)).toMatchObject({ kind: "events", viewer: "viewer" });
      // The owner answers on the stream that another opened.
      expect(await a.commit(session, 1, response(1, "r"))).toMatchObject({ kind: "committed" });
      expect(await b.read(session, 1)).toMatchObject({ events: [{ text: "r" }] });
    });

    test(`${verifies("N-01", "E-01")}streams that nodes open at once do not collide`, async () => {
      const all = await openNodes(harness, 3);
      const session = await nth(all, 0).create("a");
      const opened = await Promise.all(
        Array.from({ length: 60 }, (_, i) => nth(all, i % 3).commit(session, 0, opening("next"))),
      );
      const streams = opened.map((one) => (one.kind === "committed" ? one.begun[0]?.stream : -1));
      expect([...streams].sort((x, y) => x! - y!)).toEqual(
        Array.from({ length: 60 }, (_, i) => i + 1),
      );
      const holding = (await nth(all, 1).log.session(session))?.holding;
      expect(holding).toMatchObject({ calls: 60, streams: 60 });
    });
  });
}
