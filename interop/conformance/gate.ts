/**
 * What the checks of the conformance suite must come to. The suite's own exit code knows no warnings
 * and takes a scenario that tested nothing for a good one: here every check counts, those near our
 * subject must be there, and so must their number. Pure.
 */

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** A check that is expected not to succeed, and why that is not our fault. */
export interface ExpectedFailure {
  readonly target: string;
  readonly version: string;
  readonly scenario: string;
  readonly id: string;
  readonly status: Check["status"];
  readonly reason: string;
}

/** Checks that nobody may lose on the way. */
export const requiredOfServers: readonly string[] = [
  "server-sse-priming-event",
  "server-sse-retry-field",
  "server-sse-disconnect-resume",
  "server-sse-streams-functional",
  "server-session-initialized-accepted",
  "server-session-delete-accepted",
  "server-session-terminated-returns-404",
  "server-session-id-visible-ascii",
  "localhost-host-rebinding-rejected",
  "localhost-host-valid-accepted",
];

export interface Verdict {
  readonly successes: number;
  readonly problems: readonly string[];
}

/**
 * @param required - ids that must have succeeded
 * @param expected - of this target and version
 */
export function judge(
  checks: readonly Check[],
  required: readonly string[],
  expected: readonly ExpectedFailure[],
): Verdict {
  const succeeded = new Set(checks.filter(isSuccess).map(({ id }) => id));
  const isExpected = (check: Check) =>
    expected.some(
      ({ scenario, id, status }) =>
        scenario === check.scenario && id === check.id && status === check.status,
    );
  // A scenario that degrades to a remark is seen by the number of successes.
  const bad = checks.filter(
    (check) => !isSuccess(check) && check.status !== "INFO" && !isExpected(check),
  );
  const excused = new Set(expected.map(({ id }) => id));
  const missing = required.filter((id) => !succeeded.has(id) && !excused.has(id));
  const stale = expected.filter(
    ({ scenario, id, status }) =>
      !checks.some(
        (check) => check.scenario === scenario && check.id === id && check.status === status,
      ),
  );
  return {
    successes: checks.filter(isSuccess).length,
    problems: [
      ...bad.map(({ scenario, id, status, errorMessage = "" }) =>
        `${scenario} ${id}: ${status} ${errorMessage}`.trim(),
      ),
      ...missing.map((id) => `${id}: no success`),
      ...stale.map(({ scenario, id }) => `${scenario} ${id}: expected to fail, and did not`),
    ],
  };
}

function isSuccess({ status }: Check): boolean {
  return status === "SUCCESS";
}
