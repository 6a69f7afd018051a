/** Programs of the machine that some tests need: found, or the tests that need them are skipped. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

// Debian keeps daemons where a user's path does not lead.
const moreDirectories = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/** @returns the absolute path of an executable, or `undefined` */
export function findBinary(name: string): string | undefined {
  const directories = [...(process.env.PATH ?? "").split(delimiter), ...moreDirectories];
  return directories
    .filter((directory) => directory !== "")
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a test can use a program: `test.skipIf(!requireService("haproxy"))`.
 *
 * @throws Error when it is missing and `HOLDFAST_REQUIRE_SERVICES=1` forbids to skip
 */
export function requireService(name: string): boolean {
  if (findBinary(name) !== undefined) return true;
  missingService(name);
  return false;
}

/**
 * Say that tests are skipped for want of a service.
 *
 * @throws Error when `HOLDFAST_REQUIRE_SERVICES=1` forbids to skip them
 */
export function missingService(name: string, why = ""): void {
  const what = `"${name}" is not installed${why === "" ? "" : ` ${why}`}`;
  if (process.env.HOLDFAST_REQUIRE_SERVICES === "1") {
    throw new Error(`${what}, and HOLDFAST_REQUIRE_SERVICES=1 forbids to skip its tests`);
  }
  process.stderr.write(`SKIP: ${what}; its tests do not run\n`);
}
