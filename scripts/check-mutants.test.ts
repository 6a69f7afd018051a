import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMutant, verdictOf } from "./check-mutants.ts";

const report = (...statuses: string[]) => ({
  testResults: [{ status: "passed", assertionResults: statuses.map((status) => ({ status })) }],
});

test("a mutant names its test, and what of it", () => {
  const mutant = readMutant("mutants/a-b.patch", "Why.\n\nTest: x/y.test.ts\nName: it (does)\n\n");
  expect(mutant).toMatchObject({ name: "a-b", test: "x/y.test.ts", testName: "it (does)" });
  expect(() => readMutant("mutants/a.patch", "Test: x\n")).toThrow(/a\.patch.*Name/);
});

test("only a test that fails catches it", () => {
  expect(verdictOf(report("passed", "failed", "skipped"))).toBe("caught");
  expect(verdictOf(report("passed", "skipped"))).toBe("survived");
  expect(verdictOf(report("skipped"))).toBe("not run");
  expect(verdictOf(report())).toBe("not run");
  expect(verdictOf(undefined)).toBe("not run");
});

test("every patch of mutants/ names a test that is there", () => {
  const root = join(import.meta.dirname, "..");
  const files = readdirSync(join(root, "mutants"));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    const { test } = readMutant(file, readFileSync(join(root, "mutants", file), "utf8"));
    expect(readFileSync(join(root, test), "utf8")).not.toBe("");
  }
});
