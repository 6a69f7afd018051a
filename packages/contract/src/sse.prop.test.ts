import { readFileSync } from "node:fs";
import { testSeed, verifies } from "@holdfast/testkit";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  closeFrame,
  encodeEventId,
  frameComment,
  frameEvent,
  heartbeatFrame,
  primingFrame,
  retryFrame,
} from "./index.ts";

interface Decoded {
  readonly events: { event: string | undefined; data: string; id: string | undefined }[];
  readonly comments: string[];
  readonly retries: number[];
  readonly ids: string[];
  readonly errors: string[];
}

/** Read text as a client would, cut into pieces of these lengths (the last one repeats). */
function decode(text: string, lengths: readonly number[] = [text.length]): Decoded {
  const seen: Decoded = { events: [], comments: [], retries: [], ids: [], errors: [] };
  const parser = createParser({
    onEvent: ({ event, data, id }) => seen.events.push({ event, data, id }),
    onComment: (comment) => seen.comments.push(comment),
    onRetry: (ms) => seen.retries.push(ms),
    onId: (id) => seen.ids.push(id),
    onError: (error) => seen.errors.push(error.message),
  });
  for (let from = 0, i = 0; from < text.length; i += 1) {
    const length = Math.max(1, lengths[Math.min(i, lengths.length - 1)] ?? 1);
    parser.feed(text.slice(from, from + length));
    from += length;
  }
  return seen;
}

const seed = testSeed("SSE framing");
const id = "3f9c0a51d2b47e88.4.17.k2v9x0qm";
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 128,
});
const oneLine = fc.string({ unit: "binary", maxLength: 30 }).filter((s) => !/[\r\n]/.test(s));
const hard = fc.constantFrom(
  "\r",
  "\n",
  "\r\n",
  "\n\r",
  "\u2028",
  "\u2029",
  "\u0085",
  "\u0000",
  "\ufeff",
  "😀",
  " ",
  ":",
  "data: x",
  "id: 1",
  "a",
);
const data = fc.oneof(
  fc.array(hard, { maxLength: 12 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary" }),
  fc.json(),
);
const chunking = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });
const normalised = (text: string) => text.replace(/\r\n|\r/g, "\n");

describe("event frames", () => {
  test(`${verifies("E-07", "K-15")}are read back whole, under any chunking`, () => {
    const frame = fc.record(
      {
        id: visible,
        event: oneLine.filter((name) => name !== ""),
        retryMs: fc.nat(),
        data,
      },
      { requiredKeys: ["data"] },
    );
    const law = fc.property(fc.array(frame, { maxLength: 6 }), chunking, (frames, lengths) => {
      const seen = decode(frames.map(frameEvent).join(""), lengths);
      expect(seen.errors).toEqual([]);
      expect(seen.events).toEqual(
        frames.map((f) => ({ event: f.event, data: normalised(f.data), id: f.id })),
      );
      expect(seen.retries).toEqual(frames.flatMap((f) => f.retryMs ?? []));
    });
    fc.assert(law, { seed, numRuns: 1000 });
  });

  test(`${verifies("E-07", "E-12")}JSON passes byte for byte when it has no line break`, () => {
    const text = JSON.stringify({ s: "\u2028\u2029\u0085\u0000\r\n\ufeff😀", n: 1 });
    const seen = decode(frameEvent({ id, data: text }), [1]);
    expect(seen.events).toEqual([{ event: undefined, data: text, id }]);
  });

  test.each([
    ["CR", "a\rb", "data: a\ndata: b\n\n"],
    ["LF", "a\nb", "data: a\ndata: b\n\n"],
    ["CRLF", "a\r\nb", "data: a\ndata: b\n\n"],
    ["LF CR", "a\n\rb", "data: a\ndata: \ndata: b\n\n"],
    ["a last LF", "a\n", "data: a\ndata: \n\n"],
    ["a leading blank", " a", "data:  a\n\n"],
    ["U+2028, U+2029, U+0085", "a\u2028b\u2029c\u0085d", "data: a\u2028b\u2029c\u0085d\n\n"],
    ["nothing", "", "data:\n\n"],
  ])(`${verifies("E-07")}data with %s`, (_name, text, expected) => {
    expect(frameEvent({ data: text })).toBe(expected);
    expect(decode(expected).events).toEqual([
      { event: undefined, data: normalised(text), id: undefined },
    ]);
  });

  test("8 MB with and without line breaks are read back", () => {
    const big = JSON.stringify({ text: "x\u2028y😀".repeat(1_600_000) });
    expect(decode(frameEvent({ id, data: big })).events[0]?.data === big).toBe(true);
    const lines = "0123456789abcde\n".repeat(500_000);
    expect(decode(frameEvent({ id, data: lines })).events[0]?.data === lines).toBe(true);
  });

  test("a frame without data moves the cursor and hands nothing on", () => {
    expect(decode(frameEvent({ id }))).toMatchObject({ events: [], ids: [id] });
  });
});

describe("what the writer refuses", () => {
  const file = new URL("../../testkit/vectors/sse-vectors.json", import.meta.url);
  const { encoderMustRefuse } = JSON.parse(readFileSync(file, "utf8")) as {
    encoderMustRefuse: { idForbidden: string[]; eventForbidden: string[] };
  };

  test.each(encoderMustRefuse.idForbidden)(`${verifies("E-07")}an id with %j`, (char) => {
    for (const bad of [char, `a${char}b`, `${char}b`, `a${char}`]) {
      expect(() => frameEvent({ id: bad, data: "" })).toThrow(TypeError);
      expect(() => primingFrame(bad, 1)).toThrow(TypeError);
      expect(() => heartbeatFrame(bad)).toThrow(TypeError);
    }
  });

  test.each(encoderMustRefuse.eventForbidden)(
    `${verifies("E-07")}a name or a comment with %j`,
    (char) => {
      for (const bad of [char, `a${char}b`, `${char}b`, `a${char}`]) {
        expect(() => frameEvent({ event: bad, data: "" })).toThrow(TypeError);
        expect(() => frameComment(bad)).toThrow(TypeError);
      }
    },
  );

  test.each(["", " ", " x", "a b", "…", "\u007f"])(
    `${verifies("E-02")}an id that is not visible ASCII: %j`,
    (bad) => {
      expect(() => frameEvent({ id: bad, data: "" })).toThrow(TypeError);
    },
  );

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e21])(
    "a retry time of %s",
    (retryMs) => {
      expect(() => retryFrame(retryMs)).toThrow(TypeError);
    },
  );

  test(`${verifies("E-07")}no id, name or comment can bring in a field of its own`, () => {
    const text = fc.string({ unit: "binary", maxLength: 20 });
    const broken = fc.tuple(text, fc.constantFrom("\r", "\n", "\r\n"), text);
    const law = fc.property(broken, (pieces) => {
      const bad = pieces.join("");
      expect(() => frameEvent({ id: bad, data: "" })).toThrow(TypeError);
      expect(() => frameEvent({ event: bad, data: "" })).toThrow(TypeError);
      expect(() => frameComment(bad)).toThrow(TypeError);
    });
    fc.assert(law, { seed });
  });
});

describe("the frames of the contract", () => {
  test(`${verifies("E-05")}priming: a cursor, a retry time, and an event with empty data`, () => {
    const first = encodeEventId({
      tag: "3f9c0a51d2b47e88",
      stream: 4,
      position: 0,
      incarnation: "k2v9x0qm",
    });
    const text = primingFrame(first, 1000);
    expect(text).toBe(`id: ${first}\nretry: 1000\ndata:\n\n`);
    expect(decode(text, [1])).toMatchObject({
      events: [{ data: "", id: first }],
      retries: [1000],
    });
  });

  test(`${verifies("E-06")}heartbeat: a comment that names the newest event written`, () => {
    expect(heartbeatFrame(id)).toBe(`: at ${id}\n\n`);
    expect(decode(heartbeatFrame(id))).toMatchObject({ events: [], comments: [`at ${id}`] });
    expect(decode(heartbeatFrame(undefined))).toMatchObject({ events: [], comments: ["alive"] });
  });

  test.each(["deleted", "expired", "ended"] as const)(`${verifies("D-01")}close: %s`, (reason) => {
    expect(closeFrame(reason)).toBe(`event: close\ndata: {"reason":"${reason}"}\n\n`);
  });

  test("retry: nothing but the time", () => {
    expect(retryFrame(5000)).toBe("retry: 5000\n\n");
    expect(decode(retryFrame(5000))).toMatchObject({ events: [], ids: [], retries: [5000] });
  });

  test("a comment between two events disturbs neither", () => {
    const text = frameEvent({ data: "1" }) + frameComment("data: x") + frameEvent({ data: "2" });
    expect(decode(text, [1]).events.map((event) => event.data)).toEqual(["1", "2"]);
  });
});
