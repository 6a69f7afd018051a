import { testSeed, verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareEventIds,
  type EventPlace,
  encodeEventId,
  eventIdCharsMax,
  parseEventId,
  standaloneStream,
} from "./index.ts";

const hex = fc.constantFrom(..."0123456789abcdef");
const base36 = fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyz");
const countMax = 999_999_999_999_999;
const count = fc.oneof(fc.nat(20), fc.integer({ min: 0, max: countMax }), fc.constant(countMax));
const place: fc.Arbitrary<EventPlace> = fc.record({
  tag: fc.string({ unit: hex, minLength: 16, maxLength: 16 }),
  stream: count,
  position: count,
  incarnation: fc.string({ unit: base36, minLength: 8, maxLength: 8 }),
});
const one: EventPlace = {
  tag: "3f9c0a51d2b47e88",
  stream: 4,
  position: 17,
  incarnation: "k2v9x0qm",
};
const seed = testSeed("event ids");

describe("event ids", () => {
  test(`${verifies("E-02")}have this wire form`, () => {
    expect(encodeEventId(one)).toBe("3f9c0a51d2b47e88.4.17.k2v9x0qm");
    expect(encodeEventId({ ...one, stream: standaloneStream, position: 0 })).toBe(
      "3f9c0a51d2b47e88.0.0.k2v9x0qm",
    );
  });

  test(`${verifies("E-02")}round-trip, as visible ASCII of at most 128 characters`, () => {
    const law = fc.property(place, (p) => {
      const id = encodeEventId(p);
      expect(id).toMatch(/^[\x21-\x7e]+$/);
      expect(id.length).toBeLessThanOrEqual(eventIdCharsMax);
      expect(parseEventId(id)).toEqual(p);
    });
    fc.assert(law, { seed });
  });

  test(`${verifies("E-02")}differ when their places differ`, () => {
    const law = fc.property(place, place, (a, b) => {
      const isSame = JSON.stringify(a) === JSON.stringify(b);
      expect(encodeEventId(a) === encodeEventId(b)).toBe(isSame);
    });
    fc.assert(law, { seed });
  });

  test(`${verifies("E-02", "R-05")}nothing but an id parses, and nothing throws`, () => {
    const parts = fc.array(
      fc.oneof(fc.constantFrom(".", "0", "4", "17", "-1", "1e3", "k2v9x0qm", one.tag), fc.string()),
      { maxLength: 9 },
    );
    const digits = fc.string({ unit: fc.constantFrom(..."0019"), maxLength: 18 });
    const near = fc.tuple(place, digits, digits).map(([p, stream, position]) => {
      return `${p.tag}.${stream}.${position}.${p.incarnation}`;
    });
    const text = fc.oneof(
      near,
      fc.string({ unit: "binary", maxLength: 200 }),
      parts.map((pieces) => pieces.join("")),
      parts.map((pieces) => pieces.join(".")),
    );
    const law = fc.property(text, (t) => {
      const parsed = parseEventId(t);
      // One spelling for each place: an id is either refused or it is the one that was sent.
      if (parsed !== undefined) expect(encodeEventId(parsed)).toBe(t);
    });
    fc.assert(law, { seed, numRuns: 5000 });
  });

  test(`${verifies("E-02", "R-05")}one changed, added or missing character is seen`, () => {
    const at = fc.nat(60);
    const law = fc.property(place, at, fc.string({ maxLength: 2 }), fc.nat(2), (p, i, ins, del) => {
      const id = encodeEventId(p);
      const other = id.slice(0, i) + ins + id.slice(i + del);
      const parsed = parseEventId(other);
      if (other !== id) expect(parsed).not.toEqual(p);
      if (parsed !== undefined) expect(encodeEventId(parsed)).toBe(other);
    });
    fc.assert(law, { seed, numRuns: 2000 });
  });

  test.each([
    ["an empty text", ""],
    ["a blank before it", " 3f9c0a51d2b47e88.4.17.k2v9x0qm"],
    ["a line break behind it", "3f9c0a51d2b47e88.4.17.k2v9x0qm\n"],
    ["an upper-case tag", "3F9C0A51D2B47E88.4.17.k2v9x0qm"],
    ["a short tag", "3f9c0a51d2b47e8.4.17.k2v9x0qm"],
    ["a leading zero", "3f9c0a51d2b47e88.4.017.k2v9x0qm"],
    ["a leading zero in the stream", "3f9c0a51d2b47e88.04.17.k2v9x0qm"],
    ["a stream that a number would round", "3f9c0a51d2b47e88.9007199254740993.17.k2v9x0qm"],
    ["a negative position", "3f9c0a51d2b47e88.4.-17.k2v9x0qm"],
    ["a fraction", "3f9c0a51d2b47e88.4.1.5.k2v9x0qm"],
    ["an exponent", "3f9c0a51d2b47e88.4.1e3.k2v9x0qm"],
    ["a position that a number would round", "3f9c0a51d2b47e88.4.9007199254740993.k2v9x0qm"],
    ["digits of another script", "3f9c0a51d2b47e88.4.١٧.k2v9x0qm"],
    ["no incarnation", "3f9c0a51d2b47e88.4.17"],
    ["a long incarnation", "3f9c0a51d2b47e88.4.17.k2v9x0qmm"],
    ["9,000 characters", `3f9c0a51d2b47e88.4.${"1".repeat(9000)}.k2v9x0qm`],
    ["a number", "17"],
    ["a uuid", "b3a0c7f6-7a53-4bd1-9a58-6f6f3d1c8a10_1712345678901_x1"],
  ])(`${verifies("R-05", "c006")}%s is no event id`, (_name, text) => {
    expect(parseEventId(text)).toBeUndefined();
  });

  test(`${verifies("E-02")}the longest id is far from the limit`, () => {
    const id = encodeEventId({ ...one, stream: countMax, position: countMax });
    expect(id).toHaveLength(57);
    expect(parseEventId(id)).toBeDefined();
  });

  test(`${verifies("E-02")}places of one stream are ordered by position`, () => {
    const law = fc.property(place, count, (a, position) => {
      const b = { ...a, position };
      expect(Math.sign(compareEventIds(a, b) ?? Number.NaN)).toBe(Math.sign(a.position - position));
    });
    fc.assert(law, { seed });
  });

  test.each([
    ["tag", { tag: "0000000000000000" }],
    ["stream", { stream: 5 }],
    ["incarnation", { incarnation: "00000000" }],
  ])(`${verifies("E-02")}places of another %s are not compared`, (_name, other) => {
    expect(compareEventIds(one, { ...one, ...other })).toBeUndefined();
    expect(compareEventIds({ ...one, ...other }, one)).toBeUndefined();
    expect(compareEventIds(one, { ...one })).toBe(0);
  });
});
