/**
 * Packages of others that lie in `interop/node_modules`, with a lock file of their own: found, or
 * the tests that need them are skipped. `npm ci --prefix interop` brings them.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

const directory = new URL("../../../interop/", import.meta.url);

/**
 * Whether a test can use them: `test.skipIf(!requireInterop())`.
 *
 * @throws Error when they are missing and `HOLDFAST_REQUIRE_SERVICES=1` forbids to skip
 */
export function requireInterop(): boolean {
  if (existsSync(new URL("node_modules/", directory))) return true;
  if (process.env.HOLDFAST_REQUIRE_SERVICES === "1") {
    throw new Error("interop/node_modules is missing: run npm ci --prefix interop");
  }
  process.stderr.write("SKIP: interop/node_modules is missing; run npm ci --prefix interop\n");
  return false;
}

/** The file of a package of `interop/` that an import of `name` would load. */
export function interopFile(name: string): string {
  return createRequire(new URL("package.json", directory)).resolve(name);
}

/** A file in a package of `interop/`, whether the package exports it or not. */
export function interopPath(path: string): string {
  return fileURLToPath(new URL(`node_modules/${path}`, directory));
}

/** Load a package of `interop/`; its types are what the caller says. */
export async function importInterop<T>(name: string): Promise<T> {
  return (await import(pathToFileURL(interopFile(name)).href)) as T;
}
