import { expect, test } from "vitest";
import { countTests } from "./ci-count.ts";

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((one) => ({ status: one })),
});

test("each test counts once, whatever is not run is skipped", () => {
  const testResults = [file("failed", "passed", "failed", "skipped"), file("passed", "todo")];
  expect(countTests({ testResults }, 1)).toEqual({ passed: 1, failed: 1, skipped: 2 });
});

test("a file that does not load is a failure", () => {
  const testResults = [file("passed", "passed"), file("failed")];
  expect(countTests({ testResults }, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
});

test("a run that fails without a failing test, has no report or no test, is a failure", () => {
  const passing = { testResults: [file("passed", "passed")] };
  expect(countTests(passing, 0)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  expect(countTests(passing, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  expect(countTests(undefined, 124)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countTests({ testResults: [] }, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
