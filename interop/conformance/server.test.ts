/** The official conformance suite: all server scenarios, against everything that serves. */
import { disposeAll } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { handlerTarget, stdioTarget, upstreamTarget } from "../targets.ts";
import expectedFailures from "./expected-failures.json" with { type: "json" };
import { type ExpectedFailure, judge, requiredOfServers } from "./gate.ts";
import { runSuite } from "./suite.ts";

afterEach(disposeAll);

const targets = [
  ["createSessionHandler", handlerTarget],
  ["holdfast serve -- COMMAND", stdioTarget],
  ["holdfast serve --upstream", upstreamTarget],
] as const;

/** How many checks each revision makes. */
const totals = { "2025-06-18": 56, "2025-11-25": 84 } as const;

test.each(
  targets.flatMap(([target, start]) =>
    (["2025-06-18", "2025-11-25"] as const).map((version) => ({ target, version, start })),
  ),
)("$target, $version: every check of every scenario", async ({ target, version, start }) => {
  const { url } = await start();
  const suite = ["--suite", "all", "--spec-version", version, "--timeout", "10000"];
  const { checks, output } = await runSuite(["server", "--url", url, ...suite]);
  const expected = (expectedFailures as ExpectedFailure[]).filter(
    (one) => one.target === target && one.version === version,
  );
  // The older revision has none of the scenarios about streams and sessions' ends.
  const made = new Set(checks.map(({ id }) => id));
  const required = requiredOfServers.filter((id) => version === "2025-11-25" || made.has(id));
  const { problems, successes } = judge(checks, required, expected);
  expect(problems, output).toEqual([]);
  expect(successes + expected.length).toBe(totals[version]);
});
