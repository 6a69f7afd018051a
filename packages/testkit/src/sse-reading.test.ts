import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type SseItem, sseReader } from "./sse-reading.ts";

interface Vector {
  readonly id: string;
  readonly inputBase64: string;
  readonly expect: {
    readonly events: readonly { readonly type: string; readonly data: string }[];
    readonly lastEventId: string;
    readonly retry: number | null;
  };
}

const file = new URL("../vectors/sse-vectors.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: readonly Vector[] };

function outcome(chunks: readonly Uint8Array[]) {
  const read = sseReader();
  const items: SseItem[] = chunks.flatMap((chunk) => read(chunk));
  const ids = items.flatMap((item) => ("id" in item && item.id !== undefined ? [item.id] : []));
  return {
    events: items
      .filter((item) => item.kind === "event")
      .map(({ event = "message", data }) => ({ type: event, data })),
    lastEventId: ids.at(-1) ?? "",
    retry: items.findLast((item) => item.kind === "retry")?.retryMs ?? null,
  };
}

test.each(vectors)("$id, in one piece and cut at every byte", (vector) => {
  const bytes = Buffer.from(vector.inputBase64, "base64");
  const expected = {
    ...vector.expect,
    events: vector.expect.events.map(({ type, data }) => ({ type, data })),
  };
  expect(outcome([bytes])).toEqual(expected);
  expect(outcome([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
  for (let at = 1; at < Math.min(bytes.length, 400); at += 1) {
    expect(outcome([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
  }
});

test("priming, comments, retry and an id without data come in their order", () => {
  const text =
    ": at s.0\n\nretry: 1000\nid: s.0\ndata: \n\nid: s.1\n\nid: s.2\ndata: x\n\nfoo: bar\n";
  expect(sseReader()(Buffer.from(text))).toEqual([
    { kind: "comment", text: "at s.0" },
    { kind: "retry", retryMs: 1000 },
    { kind: "event", id: "s.0", event: undefined, data: "" },
    { kind: "id", id: "s.1" },
    { kind: "event", id: "s.2", event: undefined, data: "x" },
    { kind: "ignored", line: "foo: bar" },
  ]);
});
