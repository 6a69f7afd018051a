import { describe, expect, test } from "vitest";
import { createSamples, median, rotated } from "./statistics.ts";

describe("median", () => {
  test("is the middle of what was given, in any order", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 100])).toBe(3.5);
    expect(median([7])).toBe(7);
  });

  test("of nothing is refused", () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

test("rounds begin with each contestant in turn, and leave none out", () => {
  const rounds = [0, 1, 2, 3].map((round) => rotated(["a", "b", "c"], round).join(""));
  expect(rounds).toEqual(["abc", "bca", "cab", "abc"]);
});

test("a ratio is one of medians, not of means", () => {
  const samples = createSamples<"ours" | "theirs">();
  for (const value of [2, 2, 90]) samples.add("ours", value);
  for (const value of [1, 4, 4]) samples.add("theirs", value);
  expect(samples.ratio("ours", "theirs")).toBe(0.5);
});
