/** Runs the official conformance suite as it is published, and reads every check that it made. */
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { onDispose, spawnProcess, within } from "@holdfast/testkit";
import { packageFile } from "../packages.ts";
import type { Check } from "./gate.ts";

/** Behind stdio each scenario starts a process. */
const suiteMsMax = 180_000;

export interface SuiteRun {
  readonly code: number | null;
  readonly output: string;
  readonly checks: readonly Check[];
}

/** @param args - `server --url …` or `client --command …` */
export async function runSuite(args: readonly string[]): Promise<SuiteRun> {
  const file = packageFile("@modelcontextprotocol/conformance/dist/index.js");
  const directory = mkdtempSync(join(tmpdir(), "holdfast-conformance-"));
  onDispose(() => rmSync(directory, { recursive: true, force: true }));
  const run = await spawnProcess("node", [file, ...args, "-o", directory]);
  const { code } = await within(run.exited, `the end of the suite: ${args}`, suiteMsMax);
  return { code, output: run.stdout + run.stderr, checks: readChecks(directory) };
}

function readChecks(directory: string): Check[] {
  return globSync("**/checks.json", { cwd: directory }).flatMap((file) => {
    // server-<scenario>-<time>, client runs without the first part.
    const scenario = basename(dirname(file))
      .replace(/^server-/, "")
      .replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const checks = JSON.parse(readFileSync(join(directory, file), "utf8")) as Omit<
      Check,
      "scenario"
    >[];
    return checks.map(({ id, status, errorMessage }) => ({
      ...{ scenario, id, status },
      ...(errorMessage === undefined ? {} : { errorMessage }),
    }));
  });
}
