import { defaultReconnectPolicy, worstCaseReconnectMs } from "@holdfast/contract";
import { seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { type Budget, freshBudget, isSpent, nextAttempt } from "./budget.ts";

const policy = defaultReconnectPolicy;
const question = { nowMs: 0, floorMs: 0, usesBudget: true, isPrompt: false, fraction: 0.999_999 };

function delays(fraction: number): number[] {
  const waited: number[] = [];
  let budget: Budget = freshBudget;
  for (let nowMs = 0; ; ) {
    const verdict = nextAttempt(budget, policy, { ...question, nowMs, fraction });
    if (verdict.kind === "spent") return waited;
    waited.push(Math.round(verdict.delayMs));
    nowMs += verdict.delayMs;
    budget = verdict.budget;
  }
}

describe("the budget of a stream", () => {
  test(`${verifies("K-04")}its delays grow, and are bounded in attempts and time`, () => {
    const slowest = delays(0.999_999);
    expect(slowest).toEqual([500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 28500]);
    expect(delays(0)).toEqual(new Array(policy.maxAttempts).fill(0));
    const total = slowest.reduce((sum, ms) => sum + ms, 0);
    expect(total).toBeLessThanOrEqual(worstCaseReconnectMs(policy));
  });

  test(`${verifies("K-04")}full jitter: anything from nothing to the whole delay`, () => {
    const random = seededRandom(testSeed("jitter"));
    for (let i = 0; i < 1_000; i += 1) {
      const attempts = random.int(0, policy.maxAttempts - 1);
      const fraction = random.fraction();
      const budget = { attempts, sinceMs: 0 };
      const verdict = nextAttempt(budget, policy, { ...question, fraction });
      if (verdict.kind !== "wait") throw new Error("an attempt was left");
      expect(verdict.delayMs).toBe(fraction * Math.min(30_000, 500 * 2 ** attempts));
    }
  });

  test(`${verifies("K-04")}what the server asks for is a floor`, () => {
    const at = (floorMs: number) => nextAttempt(freshBudget, policy, { ...question, floorMs });
    expect(at(7_000)).toMatchObject({ kind: "wait", delayMs: 7_000 });
    // Longer than all that is left: nothing can come of waiting.
    expect(at(120_001)).toMatchObject({ kind: "spent" });
  });

  test(`${verifies("K-04")}an announced end is paced by the server and costs nothing`, () => {
    const announced = { ...question, usesBudget: false, fraction: 0.5 };
    const used = { attempts: policy.maxAttempts, sinceMs: 0 };
    expect(nextAttempt(used, policy, { ...announced, floorMs: 1_000 })).toEqual({
      ...{ kind: "wait", delayMs: 1_000, budget: used },
    });
    // A `retry: 0` must not spin.
    expect(nextAttempt(used, policy, announced)).toMatchObject({ delayMs: 250 });
  });

  test("where the server itself has named the way on, the first attempt waits for nothing", () => {
    const prompt = { ...question, isPrompt: true };
    expect(nextAttempt(freshBudget, policy, prompt)).toMatchObject({ delayMs: 0 });
    const used = { attempts: 1, sinceMs: 0 };
    expect(nextAttempt(used, policy, { ...prompt, fraction: 0.5 })).toMatchObject({ delayMs: 500 });
  });

  test(`${verifies("K-05")}spent is spent: by attempts, or by time`, () => {
    expect(isSpent({ attempts: 10, sinceMs: 0 }, policy, 1)).toBe(true);
    expect(isSpent({ attempts: 9, sinceMs: 0 }, policy, 119_999)).toBe(false);
    expect(isSpent({ attempts: 1, sinceMs: 0 }, policy, 120_000)).toBe(true);
    expect(isSpent(freshBudget, policy, 1e9)).toBe(false);
  });
});
