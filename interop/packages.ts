/** Packages of others in `interop/node_modules`; `npm ci --prefix interop` brings them. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = new URL("./", import.meta.url);

/** A file in a package, whether the package exports it or not. */
export function packageFile(path: string): string {
  const file = fileURLToPath(new URL(`node_modules/${path}`, root));
  if (existsSync(file)) return file;
  throw new Error(`${path} is missing: run npm ci --prefix interop`);
}

/** Load a package; its types are what the caller says. */
export async function load<T>(name: string): Promise<T> {
  const file = createRequire(new URL("package.json", root)).resolve(name);
  return (await import(pathToFileURL(file).href)) as T;
}

/** A file of the repository. */
export function repositoryFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, root));
}
