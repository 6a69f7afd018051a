import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { readTraceparent, withTraceparent, writeTraceparent } from "./trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const span = { traceId, spanId, traceFlags: 1 };
const written = `00-${traceId}-${spanId}-01`;

test("a traceparent is read as it was written", () => {
  expect(writeTraceparent(span)).toBe(written);
  expect(readTraceparent(written)).toEqual(span);
  expect(readTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ ...span, traceFlags: 0 });
  // [spec] a later version is read by what this one knows of it
  expect(readTraceparent(`01-${traceId}-${spanId}-01-more`)).toEqual(span);
});

test.each([
  ["no text", 7],
  ["nothing", undefined],
  ["empty", ""],
  ["upper case", written.toUpperCase()],
  ["version ff", `ff-${traceId}-${spanId}-01`],
  ["version 00 with more", `${written}-more`],
  ["a trace of zeroes", `00-${"0".repeat(32)}-${spanId}-01`],
  ["a span of zeroes", `00-${traceId}-${"0".repeat(16)}-01`],
  ["too short", written.slice(0, -1)],
])("%s is no traceparent", (_what, value) => {
  expect(readTraceparent(value)).toBeUndefined();
});

test(`${verifies("E-12")}all but the traceparent stays, and nothing changes where none is due`, () => {
  const text = '{"id" : 12345678901234567890,"params":{"_meta":{"a":1.0} },"x":"\\u00e9"}';
  const none = { ...span, spanId: "0".repeat(16) };
  expect(withTraceparent(text, undefined, none)).toBe(text);
  expect(withTraceparent(text, written, span)).toBe(text);
  expect(withTraceparent(text, undefined, span)).toBe(
    text.replace('{"a":1.0}', `{"a":1.0,"traceparent":"${written}"}`),
  );
  const other = text.replace('"a":1.0', `"traceparent": "00-${traceId}-${"1".repeat(16)}-00"`);
  expect(withTraceparent(other, `00-${traceId}-${"1".repeat(16)}-00`, span)).toBe(
    text.replace('"a":1.0', `"traceparent": "${written}"`),
  );
  expect(withTraceparent('{"id":1}', undefined, span)).toBe(
    `{"id":1,"params":{"_meta":{"traceparent":"${written}"}}}`,
  );
});
