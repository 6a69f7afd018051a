import type { EventLog, InboxEntry, NodeId, SharedLog } from "@holdfast/log";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import type { Session } from "../session.ts";
import { type InboxText, writeInboxText } from "./inbox-entry.ts";
import { Ownership } from "./ownership.ts";

const from = "other" as NodeId;
const calls: InboxText = {
  kind: "calls",
  messages: ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
  startedAtMs: 0,
  headers: {},
};

function owned() {
  const inbox: InboxEntry[] = [];
  const send = (text: InboxText) => {
    inbox.push({ number: inbox.length + 1, from, stream: 1, text: writeInboxText(text) });
  };
  const outcomes: string[] = [];
  const session = {
    id: "a session",
    touch() {},
    calls: {
      take: () => [{ call: {} }],
      deliver: () => outcomes.push("delivered"),
      settle: () => outcomes.push("unknown"),
      withdraw: () => outcomes.push("withdrawn"),
    },
  };
  const shared = {
    take: async (_id: unknown, _fence: number, after: number) => ({
      kind: "taken",
      entries: inbox.slice(after),
    }),
  };
  const ownership = new Ownership(session as unknown as Session, {
    log: {} as EventLog,
    shared: shared as unknown as SharedLog,
    fence: 1,
    waitForKey: async () => {},
    onFenced: () => expect.fail("nobody else owns it"),
  });
  return { ownership, send, outcomes };
}

test(`${verifies("N-04", "X-05")}a node that said "go" and left: its call runs, however late the word is read`, async () => {
  const { ownership, send, outcomes } = owned();
  send(calls);
  await ownership.catchUp();
  send({ kind: "go", stream: 1 });
  // It has left, as two answers in a row say, before anybody woke us for its last word.
  ownership.onNodes(() => false);
  ownership.onNodes(() => false);
  await ownership.catchUp();
  await Promise.resolve();
  expect(outcomes).toEqual(["delivered"]);
});

test(`${verifies("X-05")}a node that left without a word: its call has an unknown outcome, once`, async () => {
  const { ownership, send, outcomes } = owned();
  send(calls);
  await ownership.catchUp();
  ownership.onNodes(() => false);
  await ownership.catchUp();
  expect(outcomes).toEqual([]);
  ownership.onNodes(() => false);
  ownership.onNodes(() => false);
  await ownership.catchUp();
  await new Promise((resolve) => setImmediate(resolve));
  expect(outcomes).toEqual(["unknown"]);
});
