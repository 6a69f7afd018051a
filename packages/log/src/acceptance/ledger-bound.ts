/** Chapter: how much the ledger of idempotency keys may keep; of logs that have such a bound. */
import { disposeAll, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { keyBytes } from "../ledger-draft.ts";
import type { LogHarness } from "./harness.ts";
import { idempotencyTtlMs, keyed, opening, openScene } from "./scene.ts";

/** Tell the tests of a log that heeds `ledgerBytesMax`. */
export function acceptLedgerBound(name: string, harness: LogHarness): void {
  describe(`bound of the ledger: ${name}`, () => {
    afterEach(disposeAll);

    test(`${verifies("P-02", "X-03")}a new key is refused while the ledger is full; none is forgotten before its time`, async () => {
      const answer = "0123456789";
      const ledgerBytesMax = 2 * (keyBytes + answer.length);
      const scene = await openScene(harness, {}, { ledgerBytesMax });
      const session = await scene.create("a");
      await scene.commit(session, keyed(1, "first"));
      await scene.answer(session, 1, answer);
      await scene.commit(session, keyed(2, "second"));
      // Full by what is kept, not by what may come.
      await scene.commit(session, keyed(3, "third"));
      await scene.answer(session, 2, answer);
      for (let i = 0; i < 2; i++) {
        expect(await scene.attempt(session, [keyed(4, "fourth")])).toEqual({ kind: "full" });
        const held = await scene.attempt(session, [keyed(4, "first")]);
        expect(held).toMatchObject({ kind: "claimed", claim: { outcome: { text: answer } } });
        await scene.reopen();
      }
      expect(await scene.log.claim("all", "fourth")).toBeUndefined();
      // What has no key is in nobody's way, and what runs ends.
      await scene.commit(session, opening(4));
      await scene.answer(session, 3, answer);
      scene.clock.advance(idempotencyTtlMs);
      await scene.sweep();
      await scene.create("b").then((b) => scene.commit(b, keyed(1, "fourth")));
    });

    test(`${verifies("P-02", "X-05")}a call that runs again under its key counts once`, async () => {
      const scene = await openScene(harness, {}, { ledgerBytesMax: 2 * keyBytes });
      const session = await scene.create("a");
      await scene.commit(session, keyed(1, "k"));
      for (let stream = 1; stream <= 5; stream++) {
        await scene.commit(session, { op: "cancel", stream, call: 0 });
        await scene.commit(session, keyed(stream + 1, "k", { isRerun: true }));
      }
      await scene.commit(session, { op: "cancel", stream: 6, call: 0 });
      await scene.commit(session, keyed(7, "other"));
      await scene.commit(session, { op: "cancel", stream: 7, call: 0 });
      // Full: but whoever has a key may run again under it.
      expect(await scene.attempt(session, [keyed(8, "new")])).toEqual({ kind: "full" });
      await scene.commit(session, keyed(8, "k", { isRerun: true }));
    });
  });
}
