import { describe, expect, test } from "vitest";
import { readRefusal } from "./refusal.ts";

const wallMs = Date.UTC(2030, 0, 1);
const silent = {
  ...{ type: null, reason: null, oldestEventId: null, headEventId: null },
  ...{ stream: null, lostEvents: null, isNotRun: false, answer: null },
};

describe("what a refusal tells", () => {
  test.each([
    [null, null],
    ["7", 7_000],
    [" 0 ", 0],
    ["Tue, 01 Jan 2030 00:01:00 GMT", 60_000],
    ["Mon, 31 Dec 2029 23:59:00 GMT", 0],
    ["soon", null],
    ["-1", null],
  ])("Retry-After: %s", (value, retryAfterMs) => {
    const given = value === "-1" ? "minus one" : value;
    expect(readRefusal(503, given, "", wallMs).retryAfterMs).toBe(retryAfterMs);
  });

  test.each(["", "<html>", "null", "[]", '{"error":1}', '{"jsonrpc":"2.0","id":1,"result":{}}'])(
    "a body that is no error: %s",
    (text) => {
      expect(readRefusal(500, null, text, wallMs)).toMatchObject({ ...silent, text });
    },
  );

  test("a body of this contract", () => {
    const data = {
      ...{ type: "resume-window-exceeded", oldestEventId: "a", headEventId: "b" },
      ...{ stream: 4, lostEvents: 9, notRun: true, reason: "expired" },
    };
    const error = { code: -32010, message: "gone", data };
    const text = JSON.stringify({ jsonrpc: "2.0", id: null, error });
    expect(readRefusal(410, null, text, wallMs)).toMatchObject({
      ...{ type: "resume-window-exceeded", oldestEventId: "a", headEventId: "b" },
      ...{ stream: 4, lostEvents: 9, isNotRun: true, reason: "expired" },
      answer: { id: null, error },
    });
  });

  test("members of another kind are as if they were not there", () => {
    const data = { type: 1, oldestEventId: {}, headEventId: 2, stream: "x", lostEvents: -1 };
    const error = { code: -1, message: "m", data: { ...data, notRun: "true" } };
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, error });
    expect(readRefusal(410, null, text, wallMs)).toMatchObject({ ...silent, answer: { id: 1 } });
  });
});
