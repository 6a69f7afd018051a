/**
 * Fails on an import that the design forbids: `node scripts/check-boundaries.ts`.
 *
 * Workspaces do not catch these: every sibling lies in one node_modules, declared or not.
 */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix } from "node:path";
import { isPure, isTestPath, siblingName, siblingProblem } from "./boundary-rules.ts";
import { importCycles } from "./import-cycles.ts";
import { type Import, importsOf } from "./imports-of.ts";
import { type SourceFile, sourceFiles } from "./source-files.ts";

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Where a file belongs: one of `packages/`, or an area of the root such as `bench`. */
interface Home {
  /** No relative import leads out of here. */
  readonly directory: string;
  /** Short name; `undefined` outside `packages/`. */
  readonly sibling: string | undefined;
  readonly manifest: Manifest;
  readonly root: Manifest;
}

export interface BoundaryReport {
  readonly files: number;
  /** `path:line: what is wrong`. */
  readonly problems: readonly string[];
}

/** Check every source file under `root`. */
export function checkBoundaries(root: string): BoundaryReport {
  const files = sourceFiles(root);
  const homes = homesOf(root);
  const problems: string[] = [];
  const loads = new Map<string, string[]>();
  for (const file of files) {
    const home = homes(file.path);
    const imports = importsOf(file);
    for (const one of imports) {
      const problem = importProblem(file, home, one);
      if (problem !== undefined) problems.push(`${file.path}:${one.line}: ${problem}`);
    }
    const loaded = imports.filter(
      ({ kind, specifier }) => kind === "value" && isRelative(specifier),
    );
    loads.set(
      file.path,
      loaded.map(({ specifier }) => resolve(file.path, specifier)),
    );
  }
  for (const cycle of importCycles(loads)) {
    problems.push(`${cycle[0]}: files import each other: ${[...cycle, cycle[0]].join(" → ")}`);
  }
  return { files: files.length, problems };
}

function importProblem(file: SourceFile, home: Home, { specifier }: Import): string | undefined {
  const isTest = home.sibling === undefined || isTestPath(file.path);
  if (isRelative(specifier)) {
    if (resolve(file.path, specifier).startsWith(`${home.directory}/`)) return undefined;
    return `"${specifier}" leads out of ${home.directory}: import by the package's name`;
  }
  if (isBuiltin(specifier)) {
    if (!specifier.startsWith("node:")) return `"${specifier}": write "node:${specifier}"`;
    if (isTest || home.sibling === undefined || !isPure(home.sibling)) return undefined;
    return `"${specifier}": ${home.sibling} is pure, it does no I/O`;
  }
  const packageName = packageNameOf(specifier);
  const to = siblingName(packageName);
  if (to !== undefined && to === home.sibling) {
    // From outside of `src` a test may use its package as others do.
    return isTest ? undefined : `"${specifier}": own files by relative path`;
  }
  // Bench, scripts and examples are of the root, whose workspaces all siblings are.
  if (to !== undefined && home.sibling === undefined) return undefined;
  if (to !== undefined && home.sibling !== undefined) {
    const problem = siblingProblem(home.sibling, to, isTest);
    if (problem !== undefined) return `"${specifier}": ${problem}`;
  }
  if (isDeclared(packageName, home, isTest)) return undefined;
  const place = isTest ? "dependencies or devDependencies" : "dependencies";
  return `"${specifier}" is not among the ${place} of ${home.manifest.name}`;
}

function isDeclared(packageName: string, { manifest, root }: Home, isTest: boolean): boolean {
  const { dependencies, peerDependencies, optionalDependencies } = manifest;
  const always = [dependencies, peerDependencies, optionalDependencies];
  // The root's tools (the test runner, official SDKs as judges) are there for every test.
  const inTests = isTest ? [manifest.devDependencies, root.devDependencies] : [];
  return [...always, ...inTests].some((record) => record !== undefined && packageName in record);
}

function homesOf(root: string): (path: string) => Home {
  const manifests = new Map<string, Manifest | undefined>();
  const manifest = (directory: string): Manifest | undefined => {
    if (!manifests.has(directory)) {
      const file = join(root, directory, "package.json");
      const text = existsSync(file) ? readFileSync(file, "utf8") : undefined;
      manifests.set(directory, text === undefined ? undefined : (JSON.parse(text) as Manifest));
    }
    return manifests.get(directory);
  };
  const rootManifest = manifest(".") ?? {};
  return (path) => {
    const [area = "", name = ""] = path.split("/");
    const isPackage = area === "packages";
    const directory = isPackage ? `${area}/${name}` : area;
    const nearest = manifestUp(manifest, dirname(path)) ?? rootManifest;
    const sibling = isPackage ? siblingName(nearest.name ?? "") : undefined;
    return { directory, sibling, manifest: nearest, root: rootManifest };
  };
}

function manifestUp(
  manifest: (directory: string) => Manifest | undefined,
  directory: string,
): Manifest | undefined {
  if (directory === ".") return manifest(".");
  return manifest(directory) ?? manifestUp(manifest, dirname(directory));
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith("./") || specifier.startsWith("../");
}

function resolve(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier);
}

function packageNameOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

if (import.meta.main) {
  const { files, problems } = checkBoundaries(join(import.meta.dirname, ".."));
  for (const problem of problems) console.error(problem);
  console.log(`boundaries: ${files} files, ${problems.length === 0 ? "ok" : "failed"}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
