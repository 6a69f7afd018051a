/** Which package may import which: the house of the design as a table. Knows no files. */

const scope = "@holdfast/";

/**
 * Siblings that each package's code may import. `*` stands for every name that begins so, or,
 * alone, for all. First match counts.
 */
const mayImport: readonly (readonly [name: string, siblings: readonly string[]])[] = [
  ["contract", []],
  ["log", ["contract"]],
  ["log-*", ["contract", "log"]],
  ["server", ["contract", "log"]],
  ["client", ["contract"]],
  // Shared code would hide a shared bug.
  ["doctor", ["contract"]],
  ["testkit", ["contract"]],
  ["dashboard", ["contract"]],
  ["gateway", ["*"]],
];

/** Pairs that never meet, not even in a test. */
const apart: readonly (readonly [string, string])[] = [
  ["server", "client"],
  ["client", "server"],
];

/** The short name of one of our packages: `@holdfast/log` → `log`. */
export function siblingName(packageName: string): string | undefined {
  return packageName.startsWith(scope) ? packageName.slice(scope.length) : undefined;
}

/**
 * Whether a package may import a sibling.
 *
 * @param isTest - tests may import any sibling that does not break a pair that is kept apart
 * @returns the reason why not, or `undefined`
 */
export function siblingProblem(from: string, to: string, isTest: boolean): string | undefined {
  if (apart.some(([a, b]) => a === from && b === to)) return `${from} and ${to} never meet`;
  if (isTest) return undefined;
  const row = mayImport.find(([name]) => covers(name, from));
  if (row === undefined) return `no rule for the package "${from}": add a row to boundary-rules.ts`;
  const [, siblings] = row;
  if (siblings.some((name) => covers(name, to))) return undefined;
  const allowed = siblings.length === 0 ? "nothing of ours" : siblings.join(", ");
  return `${from} may import ${allowed}`;
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Packages whose code is pure: no module of Node either. */
export function isPure(name: string): boolean {
  return name === "contract";
}

/** Test code: test files, what lies in `test/`, and the suites that are exported for others. */
export function isTestPath(path: string): boolean {
  return /\.(test|e2e)\.tsx?$|(^|\/)(test|([a-z-]+-)?acceptance)\//.test(path);
}
