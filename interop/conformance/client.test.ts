/** The official conformance suite: the client scenarios that a transport has a part in, one by one. */
import { disposeAll } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { repositoryFile } from "../packages.ts";
import { judge } from "./gate.ts";
import { runSuite } from "./suite.ts";

afterEach(disposeAll);

// In a run of many the suite takes a client that fails for one that passes: one at a time.
test.each([
  ["initialize", 1],
  ["tools_call", 2],
  ["elicitation-sep1034-client-defaults", 5],
  ["sse-retry", 3],
])("ResumableClientTransport: %s", async (scenario, total) => {
  const client = repositoryFile("interop/conformance/client.ts");
  const command = `exec ${process.execPath} --conditions=holdfast-source ${client}`;
  const args = ["--scenario", scenario, "--spec-version", "2025-11-25", "--timeout", "15000"];
  const { code, checks, output } = await runSuite(["client", "--command", command, ...args]);
  const { problems, successes } = judge(checks, [], []);
  expect(problems, output).toEqual([]);
  expect(code, output).toBe(0);
  expect(successes).toBe(total);
});
