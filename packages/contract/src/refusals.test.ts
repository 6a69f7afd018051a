import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { parseMessage, type RefusalType, refusalBody, refusals } from "./index.ts";

// Written out from the clauses, so that a slip in the table is seen.
const expected: Record<RefusalType, readonly [status: number, code: number]> = {
  "unreadable-request": [400, -32000],
  "not-found": [404, -32000],
  "host-not-allowed": [403, -32000],
  "origin-not-allowed": [403, -32000],
  "method-not-allowed": [405, -32000],
  unauthorized: [401, -32000],
  "authentication-unavailable": [503, -32000],
  draining: [503, -32000],
  "not-acceptable": [406, -32000],
  "unsupported-media-type": [415, -32000],
  "body-too-large": [413, -32000],
  "parse-error": [400, -32700],
  "unsupported-version": [400, -32022],
  "session-required": [400, -32000],
  "session-not-allowed": [400, -32000],
  "invalid-session-id": [400, -32000],
  "session-not-found": [404, -32001],
  "invalid-event-id": [400, -32000],
  "foreign-event-id": [400, -32000],
  "resume-window-exceeded": [410, -32010],
  "invalid-request": [400, -32600],
  "invalid-idempotency-key": [400, -32000],
  overloaded: [503, -32000],
  "rate-limited": [429, -32000],
  "idempotency-key-reuse": [422, -32000],
  "store-unavailable": [503, -32000],
  internal: [500, -32000],
};
const types = Object.keys(expected) as RefusalType[];

describe("refusals", () => {
  test.each(types)(`${verifies("D-03", "D-04")}%s has its status and its code`, (type) => {
    const { status, code, title } = refusals[type];
    expect([status, code]).toEqual(expected[type]);
    expect(title).toMatch(/^[A-Z].*\.$/);
  });

  test(`${verifies("D-03")}only a failure in the middle leaves open whether a POST ran`, () => {
    const open = types.filter((type) => !refusals[type].isNotRun);
    expect(open).toEqual(["store-unavailable", "internal"]);
  });

  test.each(types)(`${verifies("D-03")}%s has a JSON-RPC body that says its type`, (type) => {
    const body = JSON.parse(refusalBody(type, { message: "Because." }));
    expect(body).toEqual({
      jsonrpc: "2.0",
      error: { code: expected[type][1], message: "Because.", data: { type } },
      id: null,
    });
    expect(parseMessage(body).kind).toBe("response");
  });

  test(`${verifies("D-03")}further data comes behind the type and cannot replace it`, () => {
    const data = { type: "other", notRun: true };
    expect(refusalBody("draining", { message: "x", data })).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32000,"message":"x",' +
        '"data":{"type":"draining","notRun":true}},"id":null}',
    );
  });

  test.each(["7", '"7"', "12345678901234567890", "1.50", "-1e3", '"a\\u0000\\"b"', "null"])(
    `${verifies("E-12")}the id %s goes through as it was written`,
    (id) => {
      expect(refusalBody("overloaded", { message: "x", id })).toMatch(/"id":[^{}]+\}$/);
      expect(refusalBody("overloaded", { message: "x", id }).endsWith(`,"id":${id}}`)).toBe(true);
    },
  );

  test.each(["", "7,", "{}", "[1]", "true", "undefined", '"', "07", '1},{"a":1'])(
    "%j is no id",
    (id) => {
      expect(() => refusalBody("overloaded", { message: "x", id })).toThrow(TypeError);
    },
  );
});
