import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { IncarnationRun } from "./event-log.ts";
import {
  effectiveRuns,
  evictedRunsMax,
  incarnationAt,
  placeAt,
  pruneRuns,
  randomIncarnation,
  recordRun,
} from "./incarnations.ts";

const runs: readonly IncarnationRun[] = [
  { from: 0, incarnation: "a" },
  { from: 3, incarnation: "b" },
  { from: 7, incarnation: "c" },
];

describe("the record of incarnations", () => {
  test(`${verifies("E-02")}answers for each position by the last run at or before it`, () => {
    const recorded = [0, 2, 3, 6, 7, 1_000].map((position) => incarnationAt(runs, position));
    expect(recorded).toEqual(["a", "a", "b", "b", "c", "c"]);
    expect(incarnationAt(runs.slice(1), 2)).toBeUndefined();
    expect(incarnationAt([], 0)).toBeUndefined();
  });

  test("grows by a run only when the incarnation is another", () => {
    expect(recordRun(runs, 9, "c")).toBe(runs);
    expect(recordRun(runs, 9, "a")).toEqual([...runs, { from: 9, incarnation: "a" }]);
  });

  test(`${verifies("R-04")}forgets only what neither the watermark nor a recent cursor needs`, () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ from: i * 10, incarnation: `${i}` }));
    expect(pruneRuns(many, 159)).toBe(many);
    const pruned = pruneRuns(many, 305);
    expect(pruned[0]).toEqual({ from: 140, incarnation: "14" });
    expect(pruned).toHaveLength(40 - 14);
    expect(incarnationAt(pruned, 305)).toBe("30");
    expect(pruneRuns(many, 399).length).toBe(evictedRunsMax + 1);
  });

  test("a place is vouched for, or it is a mistake to ask for it", () => {
    const stream = {
      stream: 4,
      calls: [],
      runs: runs.slice(1),
      head: 9,
      evictedThrough: 5,
      writtenThrough: 0,
      isFinished: false,
    };
    expect(placeAt("tag", stream, 7)).toEqual({
      tag: "tag",
      stream: 4,
      position: 7,
      incarnation: "c",
    });
    expect(() => placeAt("tag", stream, 2)).toThrow(RangeError);
  });

  test(`${verifies("E-02")}a fresh one has 8 characters, and is not the last one`, () => {
    const fresh = Array.from({ length: 100 }, randomIncarnation);
    for (const one of fresh) expect(one).toMatch(/^[0-9a-z]{8}$/);
    expect(new Set(fresh).size).toBe(100);
  });
});

test(`${verifies("R-08", "E-02")}runs from before a loss vouch for nothing, later ones stand`, () => {
  const runs = [
    { from: 0, incarnation: "aaaaaaaa" },
    { from: 7, incarnation: "cccccccc" },
  ];
  const log = { lossGeneration: 2, lossIncarnation: "bbbbbbbb" };
  expect(effectiveRuns(runs, 1, log)).toEqual([{ from: 0, incarnation: "bbbbbbbb" }]);
  expect(effectiveRuns(runs, 2, log)).toBe(runs);
  expect(effectiveRuns(runs, 1, { lossGeneration: 0, lossIncarnation: "" })).toBe(runs);
});
