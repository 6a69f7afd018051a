/** Chapter of shared logs: messages for the owner arrive in order, once, whoever owns the session. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { inboxEntriesMax } from "../shared-log.ts";
import type { LogPlace } from "./harness.ts";
import { type NodesHarness, nth, openNodes, send, textsOf, unlimited } from "./nodes-scene.ts";
import { numbered, opening } from "./scene.ts";

export function inbox<Place extends LogPlace>(harness: NodesHarness<Place>): void {
  describe("inbox", () => {
    test(`${verifies("N-01")}the owner is woken, and takes what was sent in the order of the commits`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      const woken = Promise.withResolvers<string>();
      const leave = a.shared.followInbox((told) => woken.resolve(told));
      await b.commit(session, 0, send("one"));
      expect(await woken.promise).toBe(session);
      leave();
      leave();
      await b.commit(session, 0, send("two"), opening("next"), send("three"), send("four"));
      await a.commit(session, 0, send("five"));
      expect(await a.take(session, 1)).toEqual([
        { number: 1, text: "one", from: b.shared.node },
        { number: 2, text: "two", from: b.shared.node },
        { number: 3, text: "three", from: b.shared.node, stream: 1 },
        { number: 4, text: "four", from: b.shared.node, stream: 1 },
        { number: 5, text: "five", from: a.shared.node },
      ]);
    });

    test(`${verifies("D-02", "N-03")}a session that was released is told to every node, and so is what it gets then`, async () => {
      const all = await openNodes(harness, 3);
      const [a, b, c] = [nth(all, 0), nth(all, 1), nth(all, 2)];
      const session = await a.create("a");
      const others = [b, c];
      const told = () =>
        Promise.all(
          others.map(({ shared }) => {
            const { promise, resolve } = Promise.withResolvers<string>();
            const leave = shared.followInbox((which) => resolve(which));
            return promise.finally(leave);
          }),
        );
      const ofRelease = told();
      await a.shared.release(session, 1);
      expect(await ofRelease).toEqual([session, session]);
      const ofEntry = told();
      await a.commit(session, 0, send("for whoever is next"));
      expect(await ofEntry).toEqual([session, session]);
      expect(textsOf(await b.take(session, await b.own(session)))).toEqual(["for whoever is next"]);
    });

    test(`${verifies("N-02")}what was taken is gone, and given again when the answer was lost`, async () => {
      const all = await openNodes(harness, 1);
      const a = nth(all, 0);
      const session = await a.create("a");
      await a.commit(session, 1, ...numbered(1, 5).map(send));
      const limit = { events: 2, bytes: 1_000 };
      const first = await a.shared.take(session, 1, 0, limit);
      expect(first).toMatchObject({ kind: "taken", entries: [{ text: "n1" }, { text: "n2" }] });
      expect(await a.shared.take(session, 1, 0, limit)).toEqual(first);
      expect(textsOf(await a.take(session, 1, 2))).toEqual(numbered(3, 5));
      expect(textsOf(await a.take(session, 1, 2))).toEqual(numbered(3, 5));
      expect(await a.take(session, 1, 5)).toEqual([]);
      expect(await a.take(session, 1, 5)).toEqual([]);
      // At least one, however large.
      await a.commit(session, 1, send("x".repeat(5_000)), send("y"));
      const large = await a.shared.take(session, 1, 5, { events: 9, bytes: 10 });
      expect(large).toMatchObject({ kind: "taken", entries: [{ number: 6 }] });
    });

    test(`${verifies("N-02", "N-03")}the next owner gets what the last one did not take, and nothing else`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await b.commit(session, 0, ...numbered(1, 3).map(send));
      // Taken, and perhaps begun: whoever comes next must not run it again.
      expect(textsOf(await a.take(session, 1))).toEqual(numbered(1, 3));
      await b.commit(session, 0, send("n4"), opening("next"), send("n5"));
      await all.leases(2);
      await b.shared.rejoin();
      const fence = await b.own(session);
      expect(await a.shared.take(session, 1, 3, unlimited)).toEqual({ kind: "fenced" });
      await b.commit(session, 0, send("n6"));
      const entries = await b.take(session, fence);
      expect(entries.map(({ text, number, stream }) => [text, number, stream])).toEqual([
        ["n4", 4, undefined],
        ["n5", 5, 1],
        ["n6", 6, undefined],
      ]);
      expect(await b.take(session, fence, 6)).toEqual([]);
    });

    test(`${verifies("N-02")}each entry goes to one owner, however often the session changes hands`, async () => {
      const all = await openNodes(harness, 3);
      const session = await nth(all, 0).create("a");
      const taken: string[] = [];
      let sent = 0;
      for (let round = 0; round < 12; round += 1) {
        const owner = nth(all, round % 3);
        const fence = await owner.own(session);
        const sending = Promise.all(
          all.nodes.map((node) => {
            sent += 2;
            return node.commit(session, 0, send(`n${sent - 1}`), send(`n${sent}`));
          }),
        );
        let after = 0;
        for (let i = 0; i < 2; i += 1) {
          const entries = await owner.take(session, fence, after);
          taken.push(...textsOf(entries));
          after = entries.at(-1)?.number ?? after;
        }
        await sending;
        await owner.shared.release(session, fence);
      }
      const last = nth(all, 0);
      taken.push(...textsOf(await last.take(session, await last.own(session))));
      const number = (text: string) => Number(text.slice(1));
      expect([...taken].sort((x, y) => number(x) - number(y))).toEqual(numbered(1, sent));
    });

    test(`${verifies("S-08", "S-04")}a session that is over takes nothing, and gives nothing`, async () => {
      const all = await openNodes(harness, 2);
      const [a, b] = [nth(all, 0), nth(all, 1)];
      const session = await a.create("a");
      await b.commit(session, 0, send("late"));
      await a.commit(session, 1, { op: "end", reason: "deleted" });
      expect(await b.commit(session, 0, send("later"))).toEqual({ kind: "absent" });
      expect(await a.shared.take(session, 1, 0, unlimited)).toEqual({ kind: "absent" });
      const [state, read] = [await b.log.session(session), await b.read(session, 0)];
      expect(state).toMatchObject({ ended: "deleted" });
      // A viewport on any node learns of it by its read.
      expect(read).toEqual({ kind: "events", events: [], ended: "deleted" });
    });

    test(`${verifies("P-02")}an inbox that nobody empties takes no more`, async () => {
      const all = await openNodes(harness, 1);
      const a = nth(all, 0);
      const session = await a.create("a");
      const many = 500;
      for (let n = 0; n < inboxEntriesMax; n += many) {
        const outcome = await a.commit(session, 0, ...numbered(n + 1, n + many).map(send));
        expect(outcome.kind).toBe("committed");
      }
      expect(await a.commit(session, 0, opening("next"), send("more"))).toEqual({ kind: "full" });
      expect((await a.log.session(session))?.nextStream).toBe(1);
      await a.shared.take(session, 1, 0, { events: 10, bytes: 1_000 });
      await a.shared.take(session, 1, 10, { events: 10, bytes: 1_000 });
      expect(await a.commit(session, 0, send("more"))).toMatchObject({ kind: "committed" });
    });
  });
}
