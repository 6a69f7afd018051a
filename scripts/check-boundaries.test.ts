import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkBoundaries } from "./check-boundaries.ts";

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-boundaries-"));
  write("package.json", { devDependencies: { vitest: "5" } });
  pack("contract");
  pack("log", ["@holdfast/contract"], ["@holdfast/testkit"]);
  pack("server", ["@holdfast/contract", "@holdfast/log"], ["@holdfast/testkit"]);
  pack("client", ["@holdfast/contract"]);
  pack("gateway", ["@holdfast/server", "@holdfast/client", "pino"]);
  pack("testkit", ["@holdfast/contract"]);
});

afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, content: string | object): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
}

function pack(name: string, dependencies: string[] = [], devDependencies: string[] = []): void {
  const record = (names: string[]) => Object.fromEntries(names.map((one) => [one, "0.0.0"]));
  write(`packages/${name}/package.json`, {
    name: `@holdfast/${name}`,
    dependencies: record(dependencies),
    devDependencies: record(devDependencies),
  });
}

const problems = () => checkBoundaries(root).problems;

test("what the design allows passes", () => {
  write("packages/contract/src/index.ts", "export type { A } from './a.ts'; export const b = 1;");
  write("packages/contract/src/a.ts", "export type A = 1;");
  write("packages/log/src/x.ts", "import { b } from '@holdfast/contract'; import 'node:fs'; b;");
  write("packages/log/src/x.test.ts", "import 'vitest'; import '@holdfast/testkit';");
  write("packages/log/src/acceptance/order.ts", "import 'vitest'; import '@holdfast/testkit';");
  write("packages/log/test/x.test.ts", "import '@holdfast/log'; import '../src/x.ts';");
  write("packages/testkit/src/face-acceptance/x.ts", "import 'vitest';");
  write("packages/gateway/src/x.ts", "import '@holdfast/server/node'; import 'pino';");
  write("bench/main.ts", "import '@holdfast/server'; import '@holdfast/client';");
  expect(checkBoundaries(root)).toEqual({ files: 9, problems: [] });
});

test.each([
  ["a static import", "import '@holdfast/log';"],
  ["an import of types", "import type { A } from '@holdfast/log';"],
  ["a re-export", "export { a } from '@holdfast/log';"],
  ["a re-export of all", "export * from '@holdfast/log';"],
  ["a dynamic import", "await import('@holdfast/log');"],
  ["an import in a type", "export type A = import('@holdfast/log').A;"],
  ["an import of a part", "import '@holdfast/log/acceptance';"],
])("%s against the rules is seen", (_, text) => {
  write("packages/contract/src/x.ts", `\n${text}`);
  expect(problems()).toEqual([
    expect.stringMatching(
      /^packages\/contract\/src\/x\.ts:2: .*contract may import nothing of ours/,
    ),
  ]);
});

test("a sibling that may be imported must be declared", () => {
  pack("server", ["@holdfast/contract"]);
  write("packages/server/src/x.ts", "import '@holdfast/log';");
  expect(problems()).toEqual([
    'packages/server/src/x.ts:1: "@holdfast/log" is not among the dependencies of @holdfast/server',
  ]);
});

test("devDependencies are for tests alone", () => {
  write("packages/log/src/x.ts", "import 'vitest';");
  write("packages/log/src/y.ts", "import '@holdfast/testkit';");
  expect(problems()).toEqual([
    expect.stringContaining('"vitest" is not among the dependencies'),
    expect.stringContaining("log may import contract"),
  ]);
});

test("server and client never meet, not even in a test", () => {
  pack("client", ["@holdfast/contract"], ["@holdfast/server"]);
  write("packages/client/src/x.test.ts", "import '@holdfast/server';");
  expect(problems()).toEqual([expect.stringContaining("client and server never meet")]);
});

test("no way leads out of a package, and none back by its own name", () => {
  write("packages/log/src/x.ts", "import '../../contract/src/index.ts';");
  write("packages/log/src/y.ts", "import '@holdfast/log';");
  write("bench/x.ts", "import '../packages/log/src/x.ts';");
  expect(problems()).toEqual([
    expect.stringContaining("bench/x.ts:1: "),
    expect.stringContaining("leads out of packages/log"),
    expect.stringContaining("own files by relative path"),
  ]);
});

test("contract does no I/O, and Node's modules are named as such", () => {
  write("packages/contract/src/x.ts", "import { readFileSync } from 'node:fs'; readFileSync;");
  write("packages/log/src/x.ts", "import 'fs';");
  expect(problems()).toEqual([
    expect.stringContaining("contract is pure"),
    expect.stringContaining('write "node:fs"'),
  ]);
});

test("files that import each other are a circle, unless by types alone", () => {
  write("packages/log/src/a.ts", "import './b.ts';");
  write("packages/log/src/b.ts", "import { type C } from './c.ts';");
  write("packages/log/src/c.ts", "export * from './a.ts';");
  write("packages/log/src/d.ts", "import './e.ts';");
  write("packages/log/src/e.ts", "import type { D } from './d.ts';");
  const [a, b, c] = ["a", "b", "c"].map((name) => `packages/log/src/${name}.ts`);
  expect(problems()).toEqual([`${a}: files import each other: ${a} → ${b} → ${c} → ${a}`]);
});

test("a package that no rule knows needs one", () => {
  pack("novelty", ["@holdfast/contract"]);
  write("packages/novelty/src/x.ts", "import '@holdfast/contract';");
  expect(problems()).toEqual([expect.stringContaining('no rule for the package "novelty"')]);
});
