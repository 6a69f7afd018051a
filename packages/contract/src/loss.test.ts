import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import {
  gapNotification,
  type OutcomeUnknownReason,
  outcomeUnknown,
  outcomeUnknownMessage,
  outcomeUnknownReasons,
  parseMessage,
  refusalBody,
  resumeWindowExceeded,
  supportedVersions,
  unsupportedVersion,
} from "./index.ts";

const at = (position: number) => ({
  tag: "3f9c0a51d2b47e88",
  stream: 4,
  position,
  incarnation: "k2v9x0qm",
});
const gap = { stream: 4, requested: at(3), oldest: at(40), head: at(140), lostEvents: 37 };
const retention = { windowMs: 1_800_000, maxEvents: 100, maxBytes: 67_108_864 };
const gapData = {
  type: "resume-window-exceeded",
  stream: 4,
  requested: "3f9c0a51d2b47e88.4.3.k2v9x0qm",
  oldestEventId: "3f9c0a51d2b47e88.4.40.k2v9x0qm",
  headEventId: "3f9c0a51d2b47e88.4.140.k2v9x0qm",
  lostEvents: 37,
  retention,
};

describe("events that are gone", () => {
  test(`${verifies("R-03")}are told with the members of the clause, and no others`, () => {
    const data = resumeWindowExceeded(gap, { ...retention, ...{ path: "./secret" } });
    expect(data).toEqual(gapData);
    expect(Object.keys(data)).toEqual(Object.keys(gapData));
  });

  test(`${verifies("R-03")}make the body of a 410`, () => {
    const data = resumeWindowExceeded(gap, retention);
    const body = JSON.parse(refusalBody("resume-window-exceeded", { message: "Gone.", data }));
    expect(body.error).toEqual({ code: -32010, message: "Gone.", data: gapData });
  });

  test(`${verifies("R-05")}may be countless`, () => {
    const data = resumeWindowExceeded({ ...gap, lostEvents: null }, retention);
    expect(JSON.parse(JSON.stringify(data)).lostEvents).toBeNull();
  });

  test(`${verifies("R-09")}are told in-band by a warning with the same data`, () => {
    const message = JSON.parse(gapNotification(resumeWindowExceeded(gap, retention)));
    expect(message).toEqual({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "warning", logger: "holdfast", data: gapData },
    });
    expect(parseMessage(message).kind).toBe("notification");
  });
});

describe("calls of unknown outcome", () => {
  const call = { id: "7", method: "tools/call", name: "charge", startedAtMs: 1_796_000_000_000 };
  const reasons = Object.keys(outcomeUnknownReasons) as OutcomeUnknownReason[];

  test(`${verifies("X-05")}have the reasons of the clause`, () => {
    expect(new Set(reasons)).toEqual(
      new Set([
        "process-restarted",
        "upstream-exited",
        "owner-lost",
        "session-ended",
        "window-expired",
        "unreachable",
        "session-gone",
        "authorization",
        "stream-refused",
      ]),
    );
  });

  test.each(reasons)(`${verifies("X-05")}%s: an error with a sentence and the facts`, (reason) => {
    const { error, ...rest } = JSON.parse(outcomeUnknownMessage(call, reason));
    expect(rest).toEqual({ jsonrpc: "2.0", id: 7 });
    expect(error.code).toBe(-32011);
    expect(error.data).toEqual({
      type: "outcome-unknown",
      requestId: 7,
      method: "tools/call",
      name: "charge",
      startedAt: "2026-11-30T00:53:20.000Z",
      reason,
    });
    expect(error.data).toEqual(outcomeUnknown(call, reason));
    expect(error.message).toMatch(/^The outcome of tools\/call "charge" is unknown: .*\.$/);
    expect(error.message).toContain("may or may not have taken effect");
    expect(error.message).toContain(outcomeUnknownReasons[reason]);
  });

  test(`${verifies("X-05")}leave out the name where the method has none`, () => {
    const { name: _name, ...unnamed } = call;
    const { error } = JSON.parse(outcomeUnknownMessage(unnamed, "owner-lost"));
    expect("name" in error.data).toBe(false);
    expect(error.message).toMatch(/^The outcome of tools\/call is unknown/);
  });

  test.each(["12345678901234567890", '"7"', "1.50"])(
    `${verifies("E-12")}keep the id %s as it was written, in both places`,
    (id) => {
      const text = outcomeUnknownMessage({ ...call, id }, "upstream-exited");
      expect(text).toContain(`"requestId":${id},`);
      expect(text.endsWith(`,"id":${id}}`)).toBe(true);
      expect(parseMessage(JSON.parse(text)).kind).toBe("response");
    },
  );

  test.each(["null", "", "{}", "7 7"])("with the id %j are none", (id) => {
    expect(() => outcomeUnknownMessage({ ...call, id }, "owner-lost")).toThrow(TypeError);
    expect(() => outcomeUnknown({ ...call, id }, "owner-lost")).toThrow(TypeError);
  });

  test("a name with quotes and line breaks stays inside its string", () => {
    const name = 'a"}\r\n\u2028b';
    const { error } = JSON.parse(outcomeUnknownMessage({ ...call, name }, "unreachable"));
    expect(error.data.name).toBe(name);
    expect(error.message).not.toMatch(/[\r\n]/);
  });
});

test(`${verifies("S-09")}a version that is not served is told with those that are`, () => {
  const data = unsupportedVersion("2026-07-28");
  const body = JSON.parse(refusalBody("unsupported-version", { message: "No.", data }));
  expect(body.error.code).toBe(-32022);
  expect(body.error.data).toEqual({
    type: "unsupported-version",
    supported: [...supportedVersions],
    requested: "2026-07-28",
  });
});
