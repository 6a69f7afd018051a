import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

test("docs/errors.md is what the tables say", () => {
  const script = ["--conditions=holdfast-source", "scripts/make-errors-page.ts", "--check"];
  const run = spawnSync(process.execPath, script, { cwd: root, encoding: "utf8" });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
});
