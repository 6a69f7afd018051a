import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { keptState } from "./kept-state.ts";

const session = {
  ...{ key: 9, url: "http://a/mcp", sessionId: "s", version: "2025-11-25", params: { x: 1 } },
  result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, instructions: "long" },
  setup: { logLevel: null, subscriptions: ["a"] },
};

function call(wireId: number, text: string) {
  const params = { name: "pay", arguments: { text }, _meta: { progressToken: wireId } };
  return {
    ...{ wireId, session: 9, appId: "3", method: "tools/call", name: "pay", digest: "d" },
    body: JSON.stringify({ jsonrpc: "2.0", id: wireId, method: "tools/call", params }),
    ...{ idempotencyKey: "k", isSafe: true, isSafeAcross: true, startedAtMs: 1 },
  };
}

/** What is kept, and a state over it. */
function kept() {
  const texts: string[] = [];
  const open = () =>
    keptState(texts.at(-1), async (text) => {
      texts.push(text);
    });
  return { texts, open };
}

test(`${verifies("K-03")}the next process finds sessions, cursors and calls`, async () => {
  const { open } = kept();
  const state = open();
  await state.commit([
    { change: "putSession", session },
    { change: "setCurrent", key: 9 },
    { change: "setSessionCursor", key: 9, cursor: "g" },
    { change: "putCall", call: call(1, "") },
    { change: "setCallCursor", wireId: 1, cursor: "c" },
  ]);
  const next = open();
  expect(next.session).toMatchObject({ sessionId: "s" });
  const { sessions, cursors, ledger, currentSession } = next.open(0);
  expect(currentSession).toBe(9);
  expect(sessions[0]).toMatchObject({ sessionId: "s", setup: session.setup, params: { x: 1 } });
  expect(sessions[0]?.result).not.toHaveProperty("instructions");
  expect([...cursors]).toEqual([[9, "g"]]);
  expect(ledger).toEqual([{ call: call(1, ""), cursor: "c", isTold: false, outcome: null }]);
});

test(`${verifies("K-14")}no id is given out twice, whatever was kept in between`, async () => {
  const { open } = kept();
  const first = open();
  await first.ready();
  const second = open();
  const ids = [first.reserveIds(), first.reserveIds(), second.reserveIds()];
  await second.ready();
  expect(new Set([ids[0], ids[2], open().reserveIds()]).size).toBe(3);
  expect(ids[1]).toBeGreaterThan(ids[0] ?? 0);
});

test(`${verifies("K-09")}a large request is kept without its body, and never sent again`, async () => {
  const { texts, open } = kept();
  await open().commit([{ change: "putCall", call: call(1, "x".repeat(5_000)) }]);
  expect(texts.at(-1)?.length).toBeLessThan(1_000);
  const [entry] = open().open(0).ledger;
  expect(entry?.call).toMatchObject({ isSafe: false, isSafeAcross: false, idempotencyKey: null });
  expect(JSON.parse(entry?.call.body ?? "")).toMatchObject({
    ...{ id: 1, method: "tools/call" },
    params: { _meta: { progressToken: 1 } },
  });
});

test("what changes nothing is not kept again", async () => {
  const { texts, open } = kept();
  const state = open();
  const moved = { change: "setSessionCursor", key: 9, cursor: "g" } as const;
  expect(state.change([moved])).toBeDefined();
  await state.commit([moved]);
  expect(texts).toEqual([]);
});
