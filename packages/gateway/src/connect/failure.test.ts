import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { failureOf } from "./failure.ts";

const status = (code: number, body = "") =>
  Object.assign(new Error("answered"), { code: "ERR_HTTP_STATUS", status: code, body });
const coded = (code: string) => Object.assign(new Error("no"), { code, hint: "Do this." });

test.each([
  [status(401), "unauthorized"],
  [status(403), "unauthorized"],
  [Object.assign(new Error("no"), { name: "UnauthorizedError" }), "unauthorized"],
  [status(404), "session-lost"],
  [status(413), "too-large"],
  [status(429), "retry-later"],
  [status(503), "retry-later"],
  [status(400, "<html>"), "protocol"],
  [coded("ERR_NOT_RUN"), "unreachable"],
  [coded("ERR_RETENTION_WINDOW"), "window-too-short"],
  [coded("ERR_STATE_UNAVAILABLE"), "state-unavailable"],
])(`${verifies("c017")}%s is of the class %s, and did not run`, (error, expected) => {
  const { code, message, data } = failureOf("tools/call", error);
  expect(code).toBe(-32000);
  expect(message).toMatch(/^tools\/call did not run: the \w+/);
  expect(data).toMatchObject({ type: expected, class: expected, notRun: true });
});

test("of what nobody foresaw it is not said that it did not run", () => {
  expect(failureOf("ping", new TypeError("odd")).data).toMatchObject({
    class: "internal",
    notRun: false,
  });
});

test("the server's own error keeps its code, its words and its data", () => {
  const error = { code: -32600, message: "No such thing.", data: { type: "rate-limited", at: 7 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
  const failure = failureOf("tools/list", status(429, body));
  expect(failure.code).toBe(-32600);
  expect(failure.message).toContain("No such thing.");
  expect(failure.data).toEqual({
    ...{ type: "rate-limited", at: 7 },
    ...{ class: "retry-later", notRun: true, status: 429 },
  });
});

test("a hint is passed on", () => {
  expect(failureOf("ping", coded("ERR_NOT_RUN")).data).toMatchObject({ hint: "Do this." });
});
