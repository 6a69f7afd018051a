/** The page that is checked in is the one that its sources make. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { buildPage } from "./build-page.ts";

const built = mkdtempSync(join(tmpdir(), "holdfast-page-"));
afterEach(() => rmSync(built, { recursive: true, force: true }));

test("packages/dashboard/page is fresh; if not: npm run page", async () => {
  await buildPage(built);
  const kept = join(import.meta.dirname, "../packages/dashboard/page");
  const files = (directory: string) =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(directory.length))
      .sort();
  expect(files(kept)).toEqual(files(built));
  for (const file of files(kept)) {
    const isSame = readFileSync(kept + file).equals(readFileSync(built + file));
    expect(`${file} ${isSame ? "is fresh" : "is stale: npm run page"}`).toBe(`${file} is fresh`);
  }
});
