import { expect, test } from "vitest";
import { demoPace, exhibits } from "./exhibits.ts";
import { type Attempt, type Row, rowOf } from "./row.ts";
import { demoTable, progressLine } from "./table.ts";

const timeout: Attempt = {
  kind: "error",
  message: "MCP error -32001: Request timed out",
  tookMs: 1234,
};
const result: Attempt = { kind: "result", tookMs: 4567 };
const quiet = { gaps: [], cuts: 1, refusals: 0, kills: 0 };
const facts = { exhibits, pace: demoPace, sdkVersion: "9.8.7" };

const stock = rowOf(
  { incident: 1, exhibit: "idle-cut", stack: "stock" },
  {
    ...quiet,
    deeds: ["a", "b", "c"].map((mark) => ({ kind: "charge", mark })),
    received: ["c"],
    attempts: [timeout, timeout, result],
  },
);
const gap = (gaps: number[], stack: Row["stack"]) =>
  rowOf(
    { incident: 2, exhibit: "evicted-cursor", stack },
    {
      ...quiet,
      deeds: ["a", "b", "c"].map((mark) => ({ kind: "entry", mark })),
      received: ["a"],
      gaps,
      attempts: [result],
    },
  );

const killed = rowOf(
  { incident: 1, exhibit: "killed-server", stack: "holdfast" },
  {
    ...quiet,
    kills: 1,
    deeds: [{ kind: "charge", mark: "a" }],
    received: [],
    attempts: [{ kind: "outcome-unknown", message: "MCP error -32011: so it is", tookMs: 3012 }],
  },
);

function lineWith(text: string, start: string): string {
  return text.split("\n").find((line) => line.trim().startsWith(start)) ?? "";
}

test("the figures of a row are those that are printed", () => {
  const text = demoTable({ ...facts, rows: [stock] });
  const line = lineWith(text, "stock SDK, no event store");
  expect(line).toMatch(/ 3 +2 of 3 +7\.0 s +timeout, then timeout, then receipt$/);
  expect(text).toContain("stock SDK 0 of 1; Holdfast 0 of 0; Holdfast, our client 0 of 0");
  expect(text).toContain("@modelcontextprotocol/sdk 9.8.7");
});

test("a loss is told apart from a loss without a word", () => {
  const text = demoTable({ ...facts, rows: [gap([], "stock"), gap([2], "holdfast")] });
  expect(lineWith(text, "stock SDK, store")).toMatch(/2 of 3 .*result, no word of the loss$/);
  expect(lineWith(text, "Holdfast, --max")).toMatch(/2 of 3 .*"2 events lost", then result$/);
  expect(text).toContain("stock SDK 0 of 1; Holdfast 1 of 1");
});

test("an unknown outcome is named, and counts as right for a killed server", () => {
  const text = demoTable({ ...facts, rows: [stock, killed] });
  expect(lineWith(text, "Holdfast, --retry 3s")).toMatch(/ 1 +1 of 1 +3\.0 s +outcome unknown$/);
  expect(text).toContain("an agent that understands the error does not repeat");
  expect(text).toContain("stock SDK 0 of 1; Holdfast 1 of 1");
  const title = exhibits.find(({ id }) => id === "killed-server");
  expect(progressLine(killed, title!)).toMatch(/: 1 charge, outcome unknown after 3\.0 s$/);
});

/** As long as a line gets at the demo's own pace. */
const twice = { ...stock, attempts: [timeout, result] };

test("it says what it counts, and that its times are short; lines end at column 100", () => {
  const text = demoTable({
    ...facts,
    rows: [twice, killed, gap([], "stock"), gap([2], "holdfast")],
  });
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    "an agent loop does that reconnects and calls again on an error (a model of common agent code;",
  );
  expect(text).toMatch(/given up after 10\.0 s/);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
});

test("an error that is no timeout is shown as it is", () => {
  const failed = { ...stock, attempts: [{ ...timeout, message: "Session not found" }] };
  const [exhibit] = exhibits;
  expect(progressLine(failed, exhibit!)).toMatch(/: 3 charges, "Session not found" after 7\.0 s$/);
});
