import { expect, test } from "vitest";
import { isHeld, type Report, writeReport } from "./report.ts";

const report: Report = {
  title: "call",
  note: "How it was done.",
  columns: ["server", "µs"],
  rows: [
    ["plain", "80.0"],
    ["a longer name", "160.5"],
  ],
  bounds: [
    { name: "ours ÷ plain", value: 2, max: 2 },
    { name: "ours ÷ theirs", value: 0.51, max: 0.5 },
  ],
};

test("a report is a Markdown table that says of each bound whether it holds", () => {
  expect(writeReport(report).split("\n")).toEqual([
    "### call",
    "",
    "How it was done.",
    "",
    "| server        |    µs |",
    "| ------------- | ----: |",
    "| plain         |  80.0 |",
    "| a longer name | 160.5 |",
    "",
    "| ratio         | measured | bound |        |",
    "| ------------- | -------: | ----: | -----: |",
    "| ours ÷ plain  |     2.00 |   ≤ 2 |  holds |",
    "| ours ÷ theirs |     0.51 | ≤ 0.5 | BROKEN |",
  ]);
});

test("a bound holds up to and with its limit", () => {
  expect(report.bounds.map(isHeld)).toEqual([true, false]);
});
