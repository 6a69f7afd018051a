/** Chapter of shared logs: what one node does, every other sees. */

import type { EventPlace } from "@holdfast/contract";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../event-log.ts";
import type { LogPlace } from "./harness.ts";
import { type Node, type NodesHarness, nth, openNodes, unlimited } from "./nodes-scene.ts";
import { creation, keyed, notification, numbered, opening, response } from "./scene.ts";

export function across<Place extends LogPlace>(harness: NodesHarness<Place>): void {
  describe("across nodes", () => {
    test(`${verifies("N-01", "N-03", "E-08")}a reader on another node follows, through a change of owners`, async () => {
      const all = await openNodes(harness, 3);
      const [a, b, c] = [nth(all, 0), nth(all, 1), nth(all, 2)];
      const session = await a.create("a");
      const opened = await b.commit(session, 0, opening("next"));
      const begin = opened.kind === "committed" ? opened.begun[0] : undefined;
      const reading = follow(c, session, begin!);
      for (const text of numbered(1, 20)) await a.commit(session, 1, notification(1, text));
      await a.shared.release(session, 1);
      const fence = await b.own(session);
      for (const text of numbered(21, 40)) await b.commit(session, fence, notification(1, text));
      await b.commit(session, fence, response(1, "end"));
      expect(await reading).toEqual([...numbered(1, 40), "end"]);
    });

    test(`${verifies("R-02", "S-08", "D-01")}who follows hears of another viewport, and of the session's end`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      let news = Promise.withResolvers<void>();
      b.log.follow(session, 0, () => news.resolve());
      await a.commit(session, 0, { op: "attach", stream: 0, viewer: "v1" });
      await news.promise;
      expect(await b.read(session, 0)).toMatchObject({ kind: "events", viewer: "v1" });
      news = Promise.withResolvers();
      await b.commit(session, 0, { op: "attach", stream: 0, viewer: "v2" });
      await news.promise;
      expect(await a.read(session, 0)).toMatchObject({ kind: "events", viewer: "v2" });
      news = Promise.withResolvers();
      await a.commit(session, 1, { op: "end", reason: "expired" });
      await news.promise;
      expect(await b.read(session, 0)).toMatchObject({ kind: "events", ended: "expired" });
    });

    test(`${verifies("X-03", "N-01")}keys are one ledger for all nodes`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const [one, two] = [await a.create("one"), await b.create("two")];
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          i % 2 === 0 ? a.commit(one, 0, keyed("next", "k")) : b.commit(two, 0, keyed("next", "k")),
        ),
      );
      const winners = claims.flatMap(({ kind }, i) => (kind === "committed" ? [i % 2] : []));
      expect(winners).toHaveLength(1);
      expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(9);
      const [winner, session] = winners[0] === 0 ? [a, one] : [b, two];
      expect(await b.log.claim("all", "k")).toMatchObject({
        session,
        outcome: { kind: "running" },
      });
      await winner.commit(session, 1, response(1, "charged"));
      for (const { log } of [a, b]) {
        expect(await log.claim("all", "k")).toMatchObject({
          outcome: { kind: "answered", text: "charged" },
        });
      }
    });

    test(`${verifies("P-02", "S-06")}live sessions are counted over all nodes`, async () => {
      const all = await openNodes(harness, 3);
      await Promise.all(all.nodes.map((node, i) => node.create(`session ${i}`)));
      await nth(all, 0).commit("session 0" as SessionId, 1, { op: "end", reason: "deleted" });
      for (const { log } of all.nodes) {
        expect(await log.liveSessions()).toBe(2);
        expect(await log.liveSessions("owner of session 1")).toBe(1);
        expect(await log.liveSessions("owner of session 0")).toBe(0);
      }
    });

    test(`${verifies("S-04")}of two nodes that create one session, one does`, async () => {
      const all = await openNodes(harness, 2);
      const both = await Promise.allSettled(
        all.nodes.map((node) => node.commit("same" as SessionId, 0, creation("same"))),
      );
      const statuses = both.map(({ status }) => status);
      expect([...statuses].sort()).toEqual(["fulfilled", "rejected"]);
    });
  });
}

/** What a viewport does: read after its cursor until there is no more, then wait to be woken. */
export async function follow(
  { log }: Node,
  session: SessionId,
  begin: EventPlace,
): Promise<readonly string[]> {
  const delivered: string[] = [];
  let cursor = begin;
  let news = Promise.withResolvers<void>();
  const leave = log.follow(session, cursor.stream, () => news.resolve());
  for (;;) {
    news = Promise.withResolvers();
    const outcome = await log.read(session, cursor, unlimited);
    if (outcome.kind === "finished") break;
    if (outcome.kind !== "events") throw new Error(outcome.kind);
    delivered.push(...outcome.events.map(({ text }) => text));
    cursor = outcome.events.at(-1)?.place ?? cursor;
    if (outcome.events.length === 0) await news.promise;
  }
  leave();
  return delivered;
}
