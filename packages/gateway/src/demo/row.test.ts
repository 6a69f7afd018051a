import { expect, test } from "vitest";
import { exitCodeOf } from "./command.ts";
import { type Attempt, type Observation, type Row, rowOf, type Stack } from "./row.ts";

const result: Attempt = { kind: "result", tookMs: 50 };
const timeout: Attempt = { kind: "error", message: "timed out", tookMs: 100 };
const unknown: Attempt = { kind: "outcome-unknown", message: "who knows", tookMs: 70 };
const nothing = { received: [], gaps: [], attempts: [result], cuts: 1, refusals: 0, kills: 0 };

function charged(
  marks: readonly string[],
  more: Partial<Observation> = {},
  stack: Stack = "stock",
) {
  const deeds = marks.map((mark) => ({ kind: "charge" as const, mark }));
  return rowOf({ incident: 1, exhibit: "x", stack }, { deeds, ...nothing, ...more });
}

function reported(marks: readonly string[], more: Partial<Observation>): Row {
  const deeds = marks.map((mark) => ({ kind: "entry" as const, mark }));
  return rowOf({ incident: 2, exhibit: "y", stack: "stock" }, { deeds, ...nothing, ...more });
}

test("one charge whose receipt came is right", () => {
  const row = charged(["a"], { received: ["a"] });
  expect(row).toMatchObject({
    effects: 1,
    sent: 1,
    lost: 0,
    doubled: 0,
    tookMs: 50,
    isRight: true,
  });
});

test("a second charge is an effect too many, whatever the caller got", () => {
  const row = charged(["a", "b"], { received: ["b"], attempts: [timeout, result] });
  expect(row).toMatchObject({ effects: 2, sent: 2, lost: 1, tookMs: 150, isRight: false });
  expect(charged(["a", "b"], { received: ["a", "b"] }).isRight).toBe(false);
});

test("no charge at all, and a charge without a result, are wrong", () => {
  expect(charged([]).isRight).toBe(false);
  expect(charged(["a"], { received: ["a"], attempts: [timeout] }).isRight).toBe(false);
});

test.each<[string, readonly string[], Partial<Observation>, Partial<Row>]>([
  ["of a killed server", ["a"], { kills: 1 }, { lost: 1, lostTold: 1, isRight: true }],
  ["of a server that lives", ["a"], { kills: 0 }, { lost: 1, lostTold: 1, isRight: false }],
  ["after a second charge", ["a", "b"], { kills: 1 }, { effects: 2, isRight: false }],
  ["before any charge", [], { kills: 1 }, { effects: 0, isRight: false }],
  ["of a receipt that came", ["a"], { kills: 1, received: ["a"] }, { lost: 0, isRight: false }],
])("an unknown outcome %s", (_name, marks, more, expected) => {
  expect(charged(marks, { attempts: [unknown], ...more })).toMatchObject(expected);
});

test("an unknown outcome, and a gap of unknown size beside it: the receipt is told of once", () => {
  const row = charged(["a"], { attempts: [unknown], kills: 1, gaps: [null] });
  expect(row).toMatchObject({ lost: 1, lostTold: 1, isRight: true });
});

test("an unknown outcome tells of no entry of a report", () => {
  const row = reported(["a"], { attempts: [unknown], kills: 1 });
  expect(row).toMatchObject({ lost: 1, lostTold: 0, isRight: false });
});

test("a timeout of a killed server is no word of it", () => {
  const row = charged(["a"], { attempts: [timeout], kills: 1 });
  expect(row).toMatchObject({ effects: 1, lost: 1, lostTold: 0, kills: 1, isRight: false });
});

test.each<[string, Partial<Observation>, Partial<Row>]>([
  ["all came", { received: ["a", "b", "c"] }, { lost: 0, isRight: true }],
  ["lost in silence", { received: ["c"] }, { lost: 2, lostTold: 0, isRight: false }],
  ["lost and told", { received: ["c"], gaps: [2] }, { lost: 2, lostTold: 2, isRight: true }],
  ["told of too few", { received: ["c"], gaps: [1] }, { lostTold: 1, isRight: false }],
  ["told of too many", { received: ["c"], gaps: [2, 1] }, { lostTold: 3, isRight: false }],
  ["told of no number", { received: ["c"], gaps: [null] }, { lostTold: 2, isRight: true }],
  ["one came twice", { received: ["a", "b", "b", "c"] }, { doubled: 1, isRight: false }],
])("a report: %s", (_name, more, expected) => {
  expect(reported(["a", "b", "c"], more)).toMatchObject({ effects: null, sent: 3, ...expected });
});

test("the exit code is that of Holdfast's rows alone", () => {
  const right = { received: ["a"] };
  expect(exitCodeOf([charged(["a"]), charged(["a"], right, "holdfast")])).toBe(0);
  expect(exitCodeOf([charged(["a"], right), charged(["a"], {}, "holdfast")])).toBe(1);
});
