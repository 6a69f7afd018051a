/**
 * Takes a fix out and expects its test to fail: `node scripts/check-mutants.ts [NAME…]`.
 *
 * Each file of mutants/ is a patch with two lines before it: `Test:`, the file that must fail, and
 * `Name:`, a part of the names of its tests. Patches are applied to a copy of the tree, one after
 * the other; the tree itself is not touched.
 */
import { type ExecFileException, execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { TestReport } from "./ci-count.ts";

export interface Mutant {
  readonly name: string;
  /** The patch file. */
  readonly path: string;
  /** The test file that must fail, from the root. */
  readonly test: string;
  /** Tests with this in their name are run. */
  readonly testName: string;
}

const patienceMs = 4_000;
const runMsMax = 60_000;

export type Verdict = "caught" | "survived" | "not applied" | "not run";

/** @throws Error for a patch that does not name its test */
export function readMutant(path: string, text: string): Mutant {
  const [, test] = /^Test: (\S+)$/m.exec(text) ?? [];
  const [, testName] = /^Name: (.+)$/m.exec(text) ?? [];
  if (test === undefined || testName === undefined) {
    throw new Error(`${path}: it needs the lines "Test: FILE" and "Name: TEXT"`);
  }
  return { name: basename(path, ".patch"), path, test, testName };
}

/** What a run says: only tests that fail catch a mutant, not files that do not load. */
export function verdictOf(report: TestReport | undefined): Verdict {
  const statuses = (report?.testResults ?? []).flatMap(({ assertionResults }) =>
    assertionResults.map(({ status }) => status),
  );
  if (statuses.includes("failed")) return "caught";
  return statuses.includes("passed") ? "survived" : "not run";
}

/** A copy of what git knows and what is new, with the same packages installed. */
function copyTree(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), "holdfast-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of listed.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file), { force: true });
  }
  for (const home of ["", ...packagesOf(root)]) {
    linkModules(join(root, home, "node_modules"), join(copy, home, "node_modules"));
  }
  // Our own packages are those of the copy.
  const scope = join("node_modules", "@holdfast");
  mkdirSync(join(copy, scope));
  for (const home of packagesOf(root)) {
    symlinkSync(join(copy, home), join(copy, scope, basename(home)));
  }
  return copy;
}

function packagesOf(root: string): string[] {
  return readdirSync(join(root, "packages")).map((name) => join("packages", name));
}

function linkModules(from: string, to: string): void {
  const names = readdirSyncOrNone(from).filter((name) => name !== "@holdfast");
  mkdirSync(to, { recursive: true });
  for (const name of names) symlinkSync(join(from, name), join(to, name));
}

function readdirSyncOrNone(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Run a mutant's tests in the copy. */
async function run(copy: string, { test, testName }: Mutant): Promise<Verdict> {
  const report = join(copy, "mutant-report.json");
  rmSync(report, { force: true });
  // A name is text here, not an expression.
  const pattern = testName.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const args = ["run", test, "-t", pattern, "--bail=1"];
  args.push("--reporter=json", `--outputFile=${report}`);
  // What fails fails by waiting, as a rule.
  const env = { ...process.env, HOLDFAST_PATIENCE_MS: String(patienceMs) };
  await new Promise<ExecFileException | null>((resolve) => {
    const bin = join(copy, "node_modules", ".bin", "vitest");
    execFile(bin, args, { cwd: copy, env, timeout: runMsMax }, resolve);
  });
  try {
    return verdictOf(JSON.parse(readFileSync(report, "utf8")) as TestReport);
  } catch {
    return "not run";
  }
}

async function judge(copy: string, mutant: Mutant): Promise<string | undefined> {
  // A test that fails anyway would catch everything.
  const before = await run(copy, mutant);
  if (before !== "survived") return `${mutant.name}: "${mutant.testName}" fails without it`;
  const apply = (...more: string[]) =>
    execFileSync("git", ["apply", ...more, mutant.path], { cwd: copy, stdio: "ignore" });
  try {
    apply();
  } catch {
    return `${mutant.name}: the patch does not apply any more; make it anew`;
  }
  const verdict = await run(copy, mutant);
  apply("--reverse");
  return verdict === "caught" ? undefined : `${mutant.name}: ${verdict} by ${mutant.test}`;
}

async function main(root: string, names: readonly string[]): Promise<void> {
  const directory = join(root, "mutants");
  const mutants = readdirSync(directory)
    .filter((file) => file.endsWith(".patch"))
    .map((file) => join(directory, file))
    .map((path) => readMutant(path, readFileSync(path, "utf8")))
    .filter(({ name }) => names.length === 0 || names.includes(name));
  const copy = copyTree(root);
  let survived = 0;
  try {
    for (const mutant of mutants) {
      const problem = await judge(copy, mutant);
      if (problem !== undefined) survived += 1;
      console.log(problem ?? `${mutant.name}: caught`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  console.log(`mutants: ${mutants.length - survived} of ${mutants.length} caught`);
  process.exitCode = survived === 0 && mutants.length > 0 ? 0 : 1;
}

if (import.meta.main) await main(join(import.meta.dirname, ".."), process.argv.slice(2));
