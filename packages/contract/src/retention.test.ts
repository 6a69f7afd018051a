import { testSeed, verifies } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkRetention,
  connectTimeoutMs,
  defaultReconnectPolicy,
  formatDuration,
  type ReconnectPolicy,
  resumeCapability,
  resumeCapabilityKey,
  worstCaseReconnectMs,
} from "./index.ts";

const minuteMs = 60_000;
const seed = testSeed("retention arithmetic");

/** Read a duration as the command line does. */
function parseDuration(text: string): number {
  const [, digits, unit] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
  const unitMs = { ms: 1, s: 1000, m: minuteMs, h: 60 * minuteMs }[unit ?? ""];
  return Number(digits) * (unitMs ?? Number.NaN);
}

describe("the worst case of a reconnect policy", () => {
  test(`${verifies("W-02")}is 130 s for ours`, () => {
    expect(worstCaseReconnectMs(defaultReconnectPolicy)).toBe(130_000);
  });

  const patient = { ...defaultReconnectPolicy, maxElapsedMs: 3_600_000 };
  test.each<[string, ReconnectPolicy, number]>([
    ["the sum of the delays when that is less than the budget", patient, 151_500 + 10_000],
    ["no attempts: one connect", { ...patient, maxAttempts: 0 }, 10_000],
    ["one attempt", { ...patient, maxAttempts: 1 }, 500 + 10_000],
    ["the first delay capped as well", { ...patient, initialDelayMs: 60_000 }, 310_000],
    ["constant delays", { ...patient, factor: 1 }, 5000 + 10_000],
    ["no delays", { ...patient, initialDelayMs: 0, maxAttempts: 1_000_000 }, 10_000],
    ["no budget", { ...patient, maxElapsedMs: 0 }, 10_000],
  ])(`${verifies("W-02")}%s`, (_name, policy, expected) => {
    expect(worstCaseReconnectMs(policy)).toBe(expected);
  });

  test.each<[Partial<ReconnectPolicy>]>([
    [{ factor: 0.5 }],
    [{ factor: Number.NaN }],
    [{ factor: Number.POSITIVE_INFINITY }],
    [{ maxAttempts: 1.5 }],
    [{ maxAttempts: -1 }],
    [{ maxAttempts: Number.POSITIVE_INFINITY }],
    [{ initialDelayMs: -1 }],
    [{ maxDelayMs: Number.NaN }],
    [{ maxElapsedMs: Number.POSITIVE_INFINITY }],
  ])("a policy with %j has none", (broken) => {
    expect(() => worstCaseReconnectMs({ ...defaultReconnectPolicy, ...broken })).toThrow(TypeError);
  });

  test(`${verifies("W-02")}no client that keeps to the policy is away for longer`, () => {
    const policy = fc.record({
      initialDelayMs: fc.nat(5000),
      maxDelayMs: fc.nat(60_000),
      factor: fc.double({ min: 1, max: 4, noNaN: true }),
      maxAttempts: fc.nat(30),
      maxElapsedMs: fc.nat(600_000),
    });
    const luck = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 30 });
    const law = fc.property(policy, luck, (p, jitter) => {
      let awayMs = 0;
      for (let i = 0; i < p.maxAttempts && awayMs < p.maxElapsedMs; i += 1) {
        const delayMs = Math.min(p.initialDelayMs * p.factor ** i, p.maxDelayMs);
        awayMs = Math.min(awayMs + delayMs * (jitter[i] ?? 1), p.maxElapsedMs);
      }
      const roundingMs = 0.001;
      expect(awayMs + connectTimeoutMs).toBeLessThanOrEqual(worstCaseReconnectMs(p) + roundingMs);
    });
    fc.assert(law, { seed });
  });
});

describe("the retention window", () => {
  test(`${verifies("W-02")}of the defaults is long enough`, () => {
    const question = {
      windowMs: 30 * minuteMs,
      idleTtlMs: 30 * minuteMs,
      clientReconnectMs: 3 * minuteMs,
    };
    expect(checkRetention(question)).toEqual({ ok: true });
  });

  test.each([
    ["equal to the reconnect", 3, 3, 3, "window-within-reconnect"],
    ["a little longer than the reconnect", 3.01, 3, 3, null],
    ["shorter than the reconnect", 2, 30, 3, "window-within-reconnect"],
    ["just as long as a session is idle", 27, 30, 3, null],
    ["shorter than that", 26, 30, 3, "window-below-idle-ttl"],
    ["with sessions that end sooner", 4, 1, 3, null],
    ["of nothing", 0, 0, 0, "window-within-reconnect"],
  ])(`${verifies("W-02")}%s`, (_name, windowMin, idleMin, reconnectMin, problem) => {
    const verdict = checkRetention({
      windowMs: windowMin * minuteMs,
      idleTtlMs: idleMin * minuteMs,
      clientReconnectMs: reconnectMin * minuteMs,
    });
    expect(verdict.ok ? null : verdict.problem).toBe(problem);
  });

  test.each([
    [{ windowMs: 2 * minuteMs, idleTtlMs: 30 * minuteMs, clientReconnectMs: 3 * minuteMs }],
    [{ windowMs: 20 * minuteMs, idleTtlMs: 30 * minuteMs, clientReconnectMs: 3 * minuteMs }],
  ])(`${verifies("W-02")}the refusal of %j gives both numbers and the fix`, (question) => {
    const verdict = checkRetention(question);
    expect(verdict.ok).toBe(false);
    const message = verdict.ok ? "" : verdict.message;
    expect(message).toContain(`${formatDuration(question.windowMs)} (--window)`);
    expect(message).toContain("3m");
    expect(message).toContain("--client-reconnect");
    expect(message).toMatch(/Use --window 27m or more/);
  });

  test(`${verifies("W-02")}each fix that a refusal names makes it hold`, () => {
    const ms = fc.oneof(fc.nat(100), fc.nat(7_200_000));
    const question = fc.record({ windowMs: ms, idleTtlMs: ms, clientReconnectMs: ms });
    const law = fc.property(question, (q) => {
      const verdict = checkRetention(q);
      if (verdict.ok) {
        expect(q.windowMs).toBeGreaterThan(q.clientReconnectMs);
        expect(q.windowMs + q.clientReconnectMs).toBeGreaterThanOrEqual(q.idleTtlMs);
        return;
      }
      const [, fix = ""] = verdict.message.split(" Use ");
      const windowMs = parseDuration(/--window (\w+)/.exec(fix)?.[1] ?? "");
      expect(checkRetention({ ...q, windowMs })).toEqual({ ok: true });
      const idle = /--idle-ttl (\w+)/.exec(fix)?.[1];
      if (idle === undefined) return;
      expect(checkRetention({ ...q, idleTtlMs: parseDuration(idle) })).toEqual({ ok: true });
    });
    fc.assert(law, { seed, numRuns: 2000 });
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("of %s is a wrong argument", (bad) => {
    const good = { windowMs: 2, idleTtlMs: 1, clientReconnectMs: 1 };
    for (const name of ["windowMs", "idleTtlMs", "clientReconnectMs"]) {
      expect(() => checkRetention({ ...good, [name]: bad })).toThrow(TypeError);
    }
  });
});

test.each([
  [0, "0ms"],
  [1, "1ms"],
  [1500, "1500ms"],
  [90_000, "90s"],
  [minuteMs, "1m"],
  [30 * minuteMs, "30m"],
  [90 * minuteMs, "90m"],
  [24 * 60 * minuteMs, "24h"],
])("%s ms are written %s", (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
  expect(parseDuration(text)).toBe(durationMs);
});

describe("the advertised contract", () => {
  const promise = {
    retention: { windowMs: 1_800_000, maxEvents: 10_000, maxBytes: 67_108_864 },
    idleTtlMs: 1_800_000,
    retryMs: 1000,
    heartbeatMs: 15_000,
    durability: "process",
  } as const;

  test(`${verifies("W-05")}has the members of the clause, and no keys that are not kept`, () => {
    expect(resumeCapabilityKey).toBe("dev.holdfast/resume");
    expect(JSON.stringify(resumeCapability(promise))).toBe(
      '{"contract":1,"windowMs":1800000,"maxEvents":10000,"maxBytes":67108864,' +
        '"idleTtlMs":1800000,"retryMs":1000,"heartbeatMs":15000,"durability":"process"}',
    );
  });

  test(`${verifies("W-05")}names the idempotency header, and whose the keys are, when they are kept`, () => {
    const idempotency = { ttlMs: 86_400_000, scope: "principal" } as const;
    expect(resumeCapability({ ...promise, idempotency }).idempotency).toEqual({
      header: "Idempotency-Key",
      ttlMs: 86_400_000,
      scope: "principal",
    });
  });
});
