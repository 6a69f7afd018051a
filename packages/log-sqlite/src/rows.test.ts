import type { CallState } from "@holdfast/log";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import {
  kindNumber,
  kindOf,
  readCalls,
  readRuns,
  writeCalls,
  writeRuns,
  writeStates,
} from "./rows.ts";

const call = { id: '"é\\u2028"', method: "tools/call", startedAtMs: 5 };
const calls: CallState[] = [
  { ...call, name: "charge", state: "answered", position: 3 },
  { ...call, state: "cancelled" },
  { ...call, id: "12345678901234567890", state: "answered", position: 9 },
];

test("calls come back as they were, the last response told by its event", () => {
  expect(writeStates(calls, 9)).toBe("a3 c r");
  expect(readCalls(writeCalls(calls), writeStates(calls, 9), 9)).toEqual(calls);
  expect(readCalls(writeCalls(calls), writeStates(calls, 0), 0)).toEqual(calls);
  const running: CallState[] = [{ ...call, state: "running" }];
  expect(readCalls(writeCalls(running), writeStates(running, 0), 0)).toEqual(running);
  expect(readCalls(writeCalls([]), writeStates([], 0), 0)).toEqual([]);
});

test(`${verifies("E-02")}runs come back as they were`, () => {
  const runs = [
    { from: 0, incarnation: "aaaaaaaa" },
    { from: 12_345_678_901, incarnation: "0z0z0z0z" },
  ];
  expect(readRuns(writeRuns(runs))).toEqual(runs);
});

test("kinds come back, and no other number is one", () => {
  for (const kind of ["notification", "request", "response"] as const) {
    expect(kindOf(kindNumber(kind))).toBe(kind);
  }
  expect(() => kindOf(3)).toThrow(RangeError);
});
