/** The reader of event streams against the vectors of the standard, under any chunking [C K-15]. */
import { readFileSync } from "node:fs";
import { frameComment, frameEvent } from "@holdfast/contract";
import { seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { type EventReader, EventTooLarge, eventReader } from "./event-reader.ts";

interface Vector {
  readonly id: string;
  readonly inputBase64: string;
  readonly expect: {
    readonly events: readonly {
      readonly type: string;
      readonly data: string;
      readonly lastEventId: string;
    }[];
    readonly lastEventId: string;
    readonly retry: number | null;
  };
}

const file = new URL("../../../testkit/vectors/sse-vectors.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: readonly Vector[] };

const large = 32 * 2 ** 20;

/** What an application sees: events with data, the cursor, the time to wait. */
function collector(eventCharsMax = large) {
  const seen = {
    events: [] as { type: string; data: string }[],
    lastEventId: "",
    retry: null as number | null,
    comments: [] as string[],
    /** Which cursor was held when each event was handed on. */
    cursors: [] as string[],
  };
  const reader: EventReader = eventReader(
    {
      event: (type, data) => {
        seen.events.push({ type, data });
        seen.cursors.push(seen.lastEventId);
      },
      moved: (id) => {
        seen.lastEventId = id ?? "";
      },
      retry: (ms) => {
        seen.retry = ms;
      },
      comment: (text) => void seen.comments.push(text),
    },
    eventCharsMax,
  );
  return { seen, reader };
}

function read(chunks: readonly Uint8Array[]) {
  const { seen, reader } = collector();
  for (const chunk of chunks) reader.read(chunk);
  const { events, lastEventId, retry } = seen;
  return { events, lastEventId, retry };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("the reader of event streams", () => {
  test.each(vectors)(`${verifies("K-15", "K-06")}$id, whole and cut at every byte`, (vector) => {
    const bytes = Buffer.from(vector.inputBase64, "base64");
    // An event without data is a cursor and nothing else.
    const events = vector.expect.events
      .filter(({ data }) => data !== "")
      .map(({ type, data }) => ({ type, data }));
    const { lastEventId, retry } = vector.expect;
    const expected = { events, lastEventId, retry };
    expect(read([bytes])).toEqual(expected);
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
    for (let at = 1; at < Math.min(bytes.length, 400); at += 1) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    }
  });

  test(`${verifies("K-03", "K-06")}the cursor waits until the message was handed on`, () => {
    const { seen, reader } = collector();
    reader.read(bytesOf("id: 1\ndata: a\n\nid: 2\n\nid: 3\ndata: b\n\ndata: c\n\n"));
    expect(seen.cursors).toEqual(["", "2", "3"]);
    expect(seen.lastEventId).toBe("3");
  });

  test(`${verifies("K-15")}8 MB in one event, in pieces of chance, come through whole`, () => {
    const random = seededRandom(testSeed("event-reader 8 MB"));
    const data = JSON.stringify({ big: "é\u2028\u0085🚢\0".repeat(2 ** 20) });
    const bytes = bytesOf(`\ufeff${frameComment("x")}${frameEvent({ id: "1", data })}`);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = random.int(1, 65_536);
      chunks.push(bytes.subarray(at, at + length));
      at += length;
    }
    const { events } = read(chunks);
    expect([events.length, events[0]?.data === data]).toEqual([1, true]);
  });

  test.each([
    ["in one chunk", [`id: 2\ndata: ${"x".repeat(101)}\n\n`]],
    ["over chunks", ["id: 2\nda", `ta: ${"x".repeat(60)}`, `${"x".repeat(60)}\n\n`]],
    ["over lines", ["id: 2\n", `data: ${"x".repeat(60)}\n`, `data: ${"x".repeat(60)}\n\n`]],
    ["of a comment", [`: ${"x".repeat(60)}`, "x".repeat(60)]],
  ])(`${verifies("K-15")}an event over the limit, %s, is refused by name`, (_name, chunks) => {
    const { seen, reader } = collector(100);
    reader.read(bytesOf(`id: 1\ndata: ${"y".repeat(100)}\n\n`));
    const readAll = () => {
      for (const chunk of chunks) reader.read(bytesOf(chunk));
    };
    expect(readAll).toThrow(EventTooLarge);
    expect([seen.events.length, seen.lastEventId]).toEqual([1, "1"]);
    reader.read(bytesOf("\n\nid: 3\ndata: z\n\n"));
    expect(seen.events).toHaveLength(1);
  });

  test.each([
    ["a retry alone", "id: 1\ndata: x\n\nretry: 5\n\n", true],
    ["priming, with a retry", "id: 1\nretry: 5\ndata:\n\n", true],
    ["a retry, then a message", "retry: 5\n\nid: 1\ndata: x\n\n", false],
    ["a retry that is none", "retry: soon\n\n", false],
    ["nothing", "", false],
  ])(`${verifies("K-04")}announced: %s`, (_name, text, expected) => {
    const { reader } = collector();
    reader.read(bytesOf(text));
    expect(reader.isAnnounced()).toBe(expected);
  });

  test("once stopped, nothing more comes, not even of the same chunk", () => {
    const seen: string[] = [];
    const reader = eventReader(
      {
        event: (_name, data) => {
          seen.push(data);
          reader.stop();
        },
        moved: (id) => void seen.push(`moved ${id}`),
        retry: () => void seen.push("retry"),
        comment: () => void seen.push("comment"),
      },
      large,
    );
    reader.read(bytesOf("id: 1\ndata: a\n\nid: 2\ndata: b\n\n: c\n\nretry: 1\n\n"));
    expect(seen).toEqual(["a"]);
  });
});
