import { verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSameJson, requestDigest } from "./identical.ts";

/** The same value with the keys of every object in reverse. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
}

describe("identical calls", () => {
  test(`${verifies("K-10")}by their JSON values, whatever the order of keys`, () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (params) => {
        expect(requestDigest("m", turned(params) as object as never)).toBe(
          requestDigest("m", params),
        );
        expect(isSameJson(params, turned(params))).toBe(true);
        // As it comes back from the state.
        expect(isSameJson(params, JSON.parse(JSON.stringify(params)))).toBe(true);
      }),
    );
  });

  test.each([
    [{ a: 1 }, { a: "1" }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: { b: 1 } }, { a: [["b", 1]] }],
    [{ a: null }, {}],
    [{}, { a: {} }],
    [{ a: [] }, { a: {} }],
  ])("%j is not %j", (one, other) => {
    expect(requestDigest("m", one)).not.toBe(requestDigest("m", other));
    expect(requestDigest("m", one)).not.toBe(requestDigest("n", one));
  });

  test("_meta and members that are undefined say nothing", () => {
    const plain = requestDigest("m", { name: "x" });
    expect(requestDigest("m", { name: "x", _meta: { progressToken: 1 }, y: undefined })).toBe(
      plain,
    );
    expect(requestDigest("m", undefined)).toBe(requestDigest("m", {}));
  });
});
