/** Every TypeScript block of the documentation is type-checked, and those marked `run=` are run. */
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { disposeAll, spawnProcess } from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
// In the repository, so that imports are resolved as an author's would be.
const directory = join(root, `.docs-blocks-${process.pid}`);

interface Block {
  readonly name: string;
  readonly run: string | undefined;
  readonly code: string;
}

const pages = ["README.md", "docs/**/*.md", "packages/*/README.md", "examples/*/README.md"];
const blocks = globSync(pages, { cwd: root }).toSorted().flatMap(blocksOf);

function blocksOf(page: string): Block[] {
  const found = readFileSync(join(root, page), "utf8").matchAll(
    /^```ts(?: run=(\w+))?\n(.*?)^```$/gms,
  );
  return [...found].map(([, run, code = ""], index) => ({
    name: `${page.replaceAll(/\W/g, "-")}-${index}`,
    run,
    code,
  }));
}

beforeAll(async () => {
  await mkdir(directory);
  const config = {
    extends: "../tsconfig.base.json",
    compilerOptions: {
      ...{ noEmit: true, composite: false, declaration: false, declarationMap: false },
      ...{ sourceMap: false, lib: ["ES2024", "DOM"] },
    },
    include: ["*.ts"],
  };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify(config));
  for (const { name, code } of blocks) await writeFile(join(directory, `${name}.ts`), code);
});

afterAll(async () => {
  await disposeAll();
  await rm(directory, { recursive: true, force: true });
});

test("all of them have right types", async () => {
  expect(blocks.length).toBeGreaterThan(6);
  const compiler = join(root, "node_modules/.bin/tsc");
  const checked = await promisify(execFile)(compiler, ["-p", directory]).catch(
    (error: { readonly stdout: string }) => error,
  );
  expect(checked.stdout).toBe("");
});

test("the server of the first pages serves, and their client calls it", async () => {
  const port = await freePort();
  const start = async (run: string, readyPattern: RegExp) => {
    const block = blocks.find((one) => one.run === run);
    const code = block?.code.replaceAll("3000", String(port)) ?? "";
    const file = join(directory, `run-${run}.ts`);
    await writeFile(file, `${code}\nconsole.log("the block is through");\n`);
    return spawnProcess(process.execPath, [file], { cwd: directory, readyPattern });
  };
  await start("server", /the block is through/);
  const client = await start("client", /Hello\./);
  expect((await client.exited).code).toBe(0);
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
