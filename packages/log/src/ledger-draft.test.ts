import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { CallState, Claim, SessionId } from "./event-log.ts";
import { claimKeys, type LedgerDraft, settleKey } from "./ledger-draft.ts";

const session = "a" as SessionId;
const asked = { scope: "all", key: "k", digest: "digest", isRerun: false };
const request = { id: "1", method: "tools/call", startedAtMs: 0 };
const call: CallState = { ...request, claim: asked, state: "running" };
const answered = { kind: "answered", text: "r" } as const;

function draftOf(held: Claim | undefined): LedgerDraft {
  return { session, before: () => held, entries: new Map() };
}

function heldBy(holder: Partial<Claim>): Claim {
  const outcome = { kind: "running" } as const;
  return { digest: "digest", session, stream: 1, call: 0, request, outcome, ...holder };
}

describe("settling a key", () => {
  test(`${verifies("X-03")}is for the call that holds it now, not for one that held it before`, () => {
    for (const [holder, isSettled] of [
      [{}, true],
      [{ stream: 2 }, false],
      [{ call: 1 }, false],
      [{ session: "b" as SessionId }, false],
      [{ outcome: { kind: "unknown", reason: "session-ended" } }, false],
      [{ outcome: { ...answered, text: "before" } }, false],
    ] as const) {
      const draft = draftOf(heldBy(holder));
      settleKey(draft, { stream: 1, calls: [call] }, 0, answered);
      const entry = { scope: "all", key: "k", claim: heldBy({ outcome: answered }) };
      expect([...draft.entries.values()]).toEqual(isSettled ? [entry] : []);
    }
  });

  test("does nothing for a key that is held no more, or a call without one", () => {
    for (const [held, one] of [
      [undefined, call],
      [heldBy({}), { ...request, state: "running" }],
    ] as const) {
      const draft = draftOf(held);
      settleKey(draft, { stream: 1, calls: [one] }, 0, answered);
      expect(draft.entries.size).toBe(0);
    }
  });
});

test(`${verifies("X-03")}of several calls the first whose key is held refuses`, () => {
  const draft = draftOf(undefined);
  const held = heldBy({ session: "b" as SessionId });
  const before = (_: string, key: string) => (key === "held" ? held : undefined);
  const keys = ["free", "held", "other"].map((key) => ({ ...request, claim: { ...asked, key } }));
  expect(claimKeys({ ...draft, before }, 7, [request, ...keys])).toBe(held);
  expect([...draft.entries.values()]).toMatchObject([{ key: "free", claim: { call: 1 } }]);
});
