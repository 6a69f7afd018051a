import type { NodeId, SessionId } from "@holdfast/log";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { hashOf, type Message, readMessages, writeMessages } from "./messages.ts";

const changed: Message & { readonly kind: "changed" } = {
  kind: "changed",
  ...{ hash: hashOf("a" as SessionId), row: 7, streams: [0, 12] },
  owner: "00ff" as NodeId,
};

test("what is written is read again", () => {
  const messages: Message[] = [
    changed,
    { ...changed, streams: "all", owner: "everyone" },
    { ...changed, streams: [], owner: undefined, row: 0 },
    { kind: "left" },
  ];
  const [text = "", ...more] = writeMessages({ from: "node", messages });
  expect(more).toEqual([]);
  expect(readMessages(text)).toEqual({ from: "node", messages });
});

test("many take several texts, each short enough; very many streams are told as all", () => {
  const streams = Array.from({ length: 101 }, (_, i) => i);
  const messages: Message[] = Array.from({ length: 1_000 }, () => changed);
  const texts = writeMessages({ from: "node", messages: [{ ...changed, streams }, ...messages] });
  expect(texts.length).toBeGreaterThan(1);
  expect(Math.max(...texts.map((text) => Buffer.byteLength(text)))).toBeLessThan(8_000);
  const read = texts.flatMap((text) => readMessages(text).messages);
  expect(read).toEqual([{ ...changed, streams: "all" }, ...messages]);
});

test(`${verifies("P-03")}a session is not named by its id`, () => {
  const [text] = writeMessages({
    from: "node",
    messages: [{ ...changed, hash: hashOf("secret-id" as SessionId) }],
  });
  expect(text).not.toContain("secret");
});
