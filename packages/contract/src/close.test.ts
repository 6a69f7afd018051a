import { readFileSync } from "node:fs";
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { classifyClose, nextAction, SessionResumptionError, type StreamClose } from "./index.ts";

interface CloseVector {
  readonly name: string;
  readonly close: StreamClose<number>;
  readonly expect:
    | { readonly outcome: string; readonly resumeFrom: number | null }
    | { readonly error: string };
}

const file = new URL("../../testkit/vectors/close-vectors.json", import.meta.url);
const { vectors }: { vectors: readonly CloseVector[] } = JSON.parse(readFileSync(file, "utf8"));

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("the strict rule", () => {
  test("has vectors for every outcome and every refusal", () => {
    const seen = vectors.map(({ expect: e }) => ("error" in e ? e.error : e.outcome));
    expect(new Set(seen)).toEqual(
      new Set([
        "reconnectable",
        "session_terminated",
        "events_lost",
        "ERR_NO_CURSOR",
        "ERR_NO_HEAD",
        "ERR_UNEXPECTED_CLOSE",
      ]),
    );
  });

  test.each(vectors)(`${verifies("K-01")}$name`, ({ close, expect: expected }) => {
    if ("error" in expected) {
      for (const decide of [nextAction, classifyClose]) {
        const error = caught(() => decide(close));
        expect(error).toBeInstanceOf(SessionResumptionError);
        expect(error).toMatchObject({ code: expected.error });
      }
    } else {
      expect(nextAction(close)).toEqual(expected);
      expect(classifyClose(close)).toBe(expected.outcome);
    }
  });

  test(`${verifies("K-01")}every status is decided or refused, by its class alone`, () => {
    for (let statusCode = -1; statusCode <= 700; statusCode += 1) {
      const close = { statusCode, lastEventIdSeen: "c", serverHeadEventId: "h" };
      const outcome = caught(() => nextAction(close)) ?? nextAction(close);
      if (statusCode >= 500 && statusCode <= 599) {
        expect(outcome).toEqual({ outcome: "reconnectable", resumeFrom: "c" });
      } else if (statusCode === 404) {
        expect(outcome).toEqual({ outcome: "session_terminated", resumeFrom: null });
      } else if (statusCode === 409 || statusCode === 410) {
        expect(outcome).toEqual({ outcome: "events_lost", resumeFrom: "h" });
      } else {
        expect(outcome).toMatchObject({ code: "ERR_UNEXPECTED_CLOSE", seen: statusCode });
      }
    }
  });

  test.each([
    [{ statusCode: null, lastEventIdSeen: null, serverHeadEventId: null }, "without a cursor"],
    [{ statusCode: 410, lastEventIdSeen: "c", serverHeadEventId: null }, "how much is missing"],
    [{ statusCode: 418, lastEventIdSeen: "c", serverHeadEventId: "h" }, "would be run again"],
  ])("the refusal of %j says why a guess is dangerous", (close, why) => {
    const error = caught(() => nextAction(close));
    expect(error).toBeInstanceOf(SessionResumptionError);
    const { message, hint, name } = error as SessionResumptionError;
    expect(message).toMatch(/^Refused to .*\.$/);
    expect(message.toLowerCase()).toContain(why);
    expect(hint).toMatch(/\.$/);
    expect(name).toBe("SessionResumptionError");
  });

  const good = { statusCode: 503, lastEventIdSeen: 7, serverHeadEventId: 9 };
  const { statusCode: _status, ...withoutStatus } = good;
  const { lastEventIdSeen: _cursor, ...withoutCursor } = good;
  const { serverHeadEventId: _head, ...withoutHead } = good;
  test.each<[string, unknown]>([
    ["no close", undefined],
    ["null", null],
    ["a status alone", 503],
    ["no status", withoutStatus],
    ["no cursor", withoutCursor],
    ["no head", withoutHead],
    ["a status that is NaN", { ...good, statusCode: Number.NaN }],
    ["an infinite status", { ...good, statusCode: Number.POSITIVE_INFINITY }],
    ["a status that is text", { ...good, statusCode: "503" }],
    ["half a status", { ...good, statusCode: 503.5 }],
    ["a status of true", { ...good, statusCode: true }],
    ["a cursor that is NaN", { ...good, lastEventIdSeen: Number.NaN }],
    ["half a cursor", { ...good, lastEventIdSeen: 1.5 }],
    ["an empty cursor", { ...good, lastEventIdSeen: "" }],
    ["a cursor that is an object", { ...good, lastEventIdSeen: {} }],
    ["a head that is an array", { ...good, serverHeadEventId: [9] }],
    ["a head of false", { ...good, serverHeadEventId: false }],
    ["a wrong head on a 404", { ...good, statusCode: 404, serverHeadEventId: Number.NaN }],
  ])("%s is a wrong argument", (_name, close) => {
    expect(() => nextAction(close as StreamClose)).toThrow(TypeError);
    expect(() => classifyClose(close as StreamClose)).toThrow(TypeError);
  });
});
