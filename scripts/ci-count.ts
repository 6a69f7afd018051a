/**
 * Counts the tests of a run: `node scripts/ci-count.ts REPORT.json EXIT-STATUS`.
 *
 * Prints `passed failed skipped`. What failed outside of any test counts as one failure: a file
 * that does not load, an error that nobody caught, a run that was stopped before its report.
 */
import { existsSync, readFileSync } from "node:fs";

/** The part of the runner's JSON report that counts. */
export interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** @param exitStatus - of the runner; 0 for success */
export function countTests(report: TestReport | undefined, exitStatus: number): TestCounts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { status, assertionResults } of report?.testResults ?? []) {
    const failedBefore = counts.failed;
    for (const test of assertionResults) {
      if (test.status === "passed") counts.passed += 1;
      else if (test.status === "failed") counts.failed += 1;
      else counts.skipped += 1;
    }
    if (status === "failed" && counts.failed === failedBefore) counts.failed += 1;
  }
  if (exitStatus !== 0 && counts.failed === 0) counts.failed = 1;
  if (counts.passed === 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

if (import.meta.main) {
  const [file = "", status = "0"] = process.argv.slice(2);
  const report = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as TestReport)
    : undefined;
  const { passed, failed, skipped } = countTests(report, Number(status));
  console.log(`${passed} ${failed} ${skipped}`);
}
