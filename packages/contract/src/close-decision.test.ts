import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { CloseCause, Standing } from "./close-table.ts";
import {
  type ClosedBy,
  callEndsAs,
  type DecisionKind,
  decideClose,
  floorMsMax,
  type Held,
  type HeldOfCall,
  type HeldOfStandalone,
  nextAction,
  type RefusedBy,
} from "./index.ts";

const any = { cursor: "c5", retryMs: null, isBudgetSpent: false, gapRecovery: "oldest" } as const;
const call: HeldOfCall<string> = { ...any, lane: "call", isSettled: false, isSafeToRepeat: false };
const standalone: HeldOfStandalone<string> = { ...any, lane: "standalone" };

const holders: Record<Standing, Held<string>> = {
  call,
  bareSafeCall: { ...call, cursor: null, isSafeToRepeat: true },
  bareCall: { ...call, cursor: null },
  settledCall: { ...call, isSettled: true },
  standalone,
  bareStandalone: { ...standalone, cursor: null },
};
const standings = Object.keys(holders) as Standing[];

function status(code: number, more: Partial<RefusedBy<string>> = {}): RefusedBy<string> {
  const silent = { type: null, oldestEventId: null, headEventId: null, retryAfterMs: null };
  return { kind: "status", status: code, ...silent, ...more };
}

const closes: Record<CloseCause, ClosedBy<string>> = {
  reset: { kind: "reset" },
  timeout: { kind: "timeout" },
  eof: { kind: "eof", isAnnounced: false },
  serverError: status(503),
  requestTimeout: status(408),
  tooEarly: status(425),
  tooManyRequests: status(429),
  notFound: status(404),
  gone: status(410),
  conflict: status(409),
  lastingConflict: status(409),
  closeEvent: { kind: "closeEvent", reason: "deleted" },
  noContent: status(204),
  unauthorized: status(401),
  forbidden: status(403),
  methodNotAllowed: status(405),
  notEventStream: { kind: "notEventStream", contentType: "text/html" },
  otherStatus: status(418),
};

// Written out cell by cell, in the order of `standings`, so that it shares nothing with the table.
// call | bareSafeCall | bareCall | settledCall | standalone | bareStandalone
const expected: Record<CloseCause, string> = {
  reset: "resume reissue refuse complete resume reopen",
  timeout: "resume reissue refuse complete resume reopen",
  eof: "resume reissue refuse complete resume reopen",
  serverError: "resume reissue refuse complete resume reopen",
  requestTimeout: "resume reissue refuse complete resume reopen",
  tooEarly: "resume reissue refuse complete resume reopen",
  tooManyRequests: "resume reissue refuse complete resume reopen",
  notFound:
    "sessionTerminated sessionTerminated sessionTerminated sessionTerminated sessionTerminated sessionTerminated",
  gone: "eventsLost eventsLost eventsLost complete eventsLost eventsLost",
  conflict: "busy reissue refuse complete busy busy",
  lastingConflict: "eventsLost eventsLost eventsLost complete eventsLost eventsLost",
  closeEvent: "sessionEnding sessionEnding sessionEnding sessionEnding sessionEnding sessionEnding",
  noContent: "incomplete incomplete incomplete complete complete complete",
  unauthorized: "authorization authorization authorization complete authorization authorization",
  forbidden: "authorization authorization authorization complete authorization authorization",
  methodNotAllowed: "notOffered notOffered notOffered complete notOffered notOffered",
  notEventStream: "unexpected unexpected unexpected complete unexpected unexpected",
  otherStatus: "unexpected unexpected unexpected complete unexpected unexpected",
};

const cells = (Object.keys(closes) as CloseCause[]).flatMap((cause) =>
  standings.map((standing, i) => {
    const kind = expected[cause].split(" ")[i] as DecisionKind;
    const held = { ...holders[standing], isBudgetSpent: cause === "lastingConflict" };
    return { cause, standing, kind, close: closes[cause], held };
  }),
);

describe("the decision on a closed stream", () => {
  test.each(cells)(`${verifies("K-01", "K-02")}$cause × $standing: $kind`, (cell) => {
    expect(decideClose(cell.close, cell.held).kind).toBe(cell.kind);
  });

  test.each(cells)(`${verifies("K-02")}$cause × $standing never resumes uncursored`, (cell) => {
    const decision = decideClose(cell.close, cell.held);
    if (decision.kind === "resume") expect(decision.cursor).toBe("c5");
    if (decision.kind === "busy") expect(decision.cursor).toBe(cell.held.cursor);
    if (decision.kind === "refuse") expect(decision.error.code).toBe("ERR_NO_CURSOR");
    if (decision.kind === "unexpected") expect(decision.error.code).toBe("ERR_UNEXPECTED_CLOSE");
  });

  test(`${verifies("K-01")}every status has its row, and only those the clause names`, () => {
    const named: Record<number, DecisionKind> = {
      204: "incomplete",
      401: "authorization",
      403: "authorization",
      404: "sessionTerminated",
      405: "notOffered",
      408: "resume",
      409: "busy",
      410: "eventsLost",
      425: "resume",
      429: "resume",
    };
    for (let code = 0; code <= 700; code += 1) {
      const isServerError = code >= 500 && code <= 599;
      const kind = isServerError ? "resume" : (named[code] ?? "unexpected");
      expect([code, decideClose(status(code), call).kind]).toEqual([code, kind]);
    }
  });

  test(`${verifies("K-01")}data.type decides for any 4xx, and for no other status`, () => {
    const type = "resume-window-exceeded";
    for (let code = 400; code <= 499; code += 1) {
      expect(decideClose(status(code, { type }), call).kind).toBe("eventsLost");
    }
    expect(decideClose(status(503, { type }), call).kind).toBe("resume");
    expect(decideClose(status(399, { type }), call).kind).toBe("unexpected");
    expect(decideClose(status(400, { type: "foreign-event-id" }), call).kind).toBe("unexpected");
  });

  test(`${verifies("K-01")}agrees with the strict pair wherever that has an answer`, () => {
    for (const code of [null, 500, 502, 503, 504, 599]) {
      const strict = nextAction({
        statusCode: code,
        lastEventIdSeen: "c5",
        serverHeadEventId: null,
      });
      const decision = decideClose(code === null ? { kind: "reset" } : status(code), call);
      expect(decision).toMatchObject({ kind: "resume", cursor: strict.resumeFrom });
    }
    const strict = nextAction({ statusCode: 410, lastEventIdSeen: "c5", serverHeadEventId: "h9" });
    const lost = decideClose(status(410, { headEventId: "h9" }), call);
    expect(lost).toEqual({ kind: "eventsLost", from: { at: "head", cursor: strict.resumeFrom } });
  });

  test("a cursor of zero is a cursor", () => {
    const decision = decideClose<number>({ kind: "reset" }, { ...standalone, cursor: 0 });
    expect(decision).toMatchObject({ kind: "resume", cursor: 0 });
  });

  test("a status or cursor that is none is a wrong argument, whatever the stream", () => {
    for (const held of Object.values(holders)) {
      expect(() => decideClose(status(Number.NaN), held)).toThrow(TypeError);
      expect(() => decideClose({ kind: "reset" }, { ...held, cursor: "" })).toThrow(TypeError);
    }
  });

  test("an unexpected answer is named in its error", () => {
    expect(decideClose(status(418), call)).toMatchObject({
      error: { message: expect.stringContaining("status 418"), seen: 418 },
    });
    expect(decideClose(closes.notEventStream, call)).toMatchObject({
      error: { message: expect.stringContaining('"text/html"') },
    });
    expect(decideClose({ kind: "notEventStream", contentType: null }, call)).toMatchObject({
      error: { message: expect.stringContaining("no content type") },
    });
  });

  test("the reason of a close event is handed on", () => {
    expect(decideClose(closes.closeEvent, standalone)).toEqual({
      kind: "sessionEnding",
      reason: "deleted",
    });
  });
});

describe("where a stream goes on after lost events", () => {
  const both = status(410, { oldestEventId: "o7", headEventId: "h9" });
  const none = { kind: "eventsLost", from: { at: "none" } };
  const at = (place: string, cursor: string) => ({
    kind: "eventsLost",
    from: { at: place, cursor },
  });

  test(`${verifies("K-08")}at the oldest, or at the head when so configured`, () => {
    expect(decideClose(both, call)).toEqual(at("oldest", "o7"));
    expect(decideClose(both, { ...call, gapRecovery: "head" })).toEqual(at("head", "h9"));
  });

  test(`${verifies("K-08")}at the other one when one is missing`, () => {
    expect(decideClose({ ...both, oldestEventId: null }, call)).toEqual(at("head", "h9"));
    const wantsHead: Held<string> = { ...standalone, gapRecovery: "head" };
    expect(decideClose({ ...both, headEventId: null }, wantsHead)).toEqual(at("oldest", "o7"));
  });

  test(`${verifies("K-08")}nowhere when no id is usable`, () => {
    expect(decideClose(status(410), call)).toEqual(none);
    for (const bad of ["", " o7", "o7 ", "o\n7", "o\u00007", "…"]) {
      const refusal = status(410, { oldestEventId: bad, headEventId: bad });
      expect(decideClose(refusal, call)).toEqual(none);
    }
  });

  test(`${verifies("K-08")}never at the cursor that was just refused`, () => {
    const loop = status(410, { oldestEventId: "c5", headEventId: "c5" });
    expect(decideClose(loop, call)).toEqual(none);
    expect(decideClose({ ...loop, headEventId: "h9" }, call)).toEqual(at("head", "h9"));
  });
});

describe("when to come back", () => {
  test(`${verifies("K-04")}retry and Retry-After are floors, the later one counts`, () => {
    const held = { ...call, retryMs: 1000 };
    const floor = (close: ClosedBy<string>) => decideClose(close, held);
    expect(floor({ kind: "reset" })).toMatchObject({ floorMs: 1000 });
    expect(floor(status(503, { retryAfterMs: 3000 }))).toMatchObject({ floorMs: 3000 });
    expect(floor(status(503, { retryAfterMs: 10 }))).toMatchObject({ floorMs: 1000 });
    expect(floor(status(409, { retryAfterMs: 3000 }))).toMatchObject({ floorMs: 3000 });
  });

  test.each([
    [null, 0],
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [1e12, floorMsMax],
    [Number.POSITIVE_INFINITY, floorMsMax],
  ])(`${verifies("K-04")}a retry of %s gives a floor of %s ms`, (retryMs, floorMs) => {
    for (const held of [call, standalone]) {
      expect(decideClose({ kind: "reset" }, { ...held, retryMs })).toMatchObject({ floorMs });
    }
    expect(decideClose({ kind: "reset" }, { ...holders.bareSafeCall, retryMs })).toEqual({
      kind: "reissue",
      floorMs,
    });
  });

  test(`${verifies("K-04")}only an end that retry announced leaves the budget alone`, () => {
    const announced: ClosedBy<string> = { kind: "eof", isAnnounced: true };
    for (const standing of ["call", "standalone", "bareStandalone"] as const) {
      const held = holders[standing];
      expect(decideClose(announced, held)).toMatchObject({ usesBudget: false });
      expect(decideClose(closes.eof, held)).toMatchObject({ usesBudget: true });
      expect(decideClose(closes.serverError, held)).toMatchObject({ usesBudget: true });
    }
  });
});

describe("what becomes of a waiting call", () => {
  const endings: Record<DecisionKind, string | null> = {
    resume: null,
    busy: null,
    reissue: null,
    refuse: "unreachable",
    reopen: null,
    eventsLost: "window-expired",
    sessionTerminated: "session-gone",
    sessionEnding: "session-ended",
    complete: null,
    incomplete: "stream-refused",
    authorization: "authorization",
    notOffered: "stream-refused",
    unexpected: "stream-refused",
  };

  test.each(cells)(`${verifies("K-01")}$cause × $standing ends it as the reason says`, (cell) => {
    expect(callEndsAs(decideClose(cell.close, cell.held))).toBe(endings[cell.kind]);
  });

  test(`${verifies("K-08")}a gap with a place to go on does not end it`, () => {
    expect(callEndsAs(decideClose(status(410, { oldestEventId: "o7" }), call))).toBeNull();
  });

  test(`${verifies("K-01")}each waiting call goes on or has a reason to end`, () => {
    const goOn = new Set<DecisionKind>(["resume", "busy", "reissue"]);
    for (const { standing, close, held } of cells) {
      if (standing === "settledCall" || held.lane === "standalone") continue;
      const decision = decideClose(close, held);
      expect(goOn.has(decision.kind)).toBe(callEndsAs(decision) === null);
    }
  });
});
