/** The migration page shows what the two programs differ in, and both steps serve. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { disposeAll, onDispose, openSession, spawnProcess, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

const here = import.meta.dirname;
const read = (file: string) => readFile(join(here, file), "utf8");
/** Lines of one that the other does not have, without those that only speak of it. */
const newLines = (from: string, to: string) => {
  const old = new Set(from.split("\n"));
  return to.split("\n").filter((line) => line !== "" && !line.startsWith("/**") && !old.has(line));
};

const swapped = (before: string) =>
  before.replace(
    'import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";',
    'import { HoldfastServerTransport as StreamableHTTPServerTransport } from "@holdfast/server";',
  );

test("the page shows every line that an author has to write, ten at most", async () => {
  const page = await read("../../docs/migration.md");
  const shown = page.split("\n").filter((line) => line.startsWith("+"));
  const before = await read("before.ts");
  const first = newLines(before, swapped(before));
  const second = newLines(before, await read("after.ts"));
  expect(first).toHaveLength(1);
  expect(second.length).toBeLessThanOrEqual(10);
  // `});` ends the call, and other calls of the program too.
  const written = [...first, ...second].map((line) => `+${line}`);
  expect(shown.filter((line) => line !== "+});")).toEqual(written.filter((l) => l !== "+});"));
});

test.each(["before", "swapped", "after"])(
  `${verifies("S-01", "X-01")}the server serves: %s`,
  async (step) => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-migration-"));
    onDispose(() => rm(directory, { recursive: true, force: true }));
    const file = join(here, step === "swapped" ? `swapped-${process.pid}.ts` : `${step}.ts`);
    if (step === "swapped") {
      await writeFile(file, swapped(await read("before.ts")));
      onDispose(() => rm(file));
    }
    const { ready } = await spawnProcess(process.execPath, [file], {
      env: { PORT: "0", DB: join(directory, "sessions.db") },
      readyPattern: /port: (\d+)/,
    });
    const session = await openSession(`http://127.0.0.1:${ready?.[1]}/mcp`);
    const answer = await (await session.call("greet")).response();
    expect(answer.result).toEqual({ content: [{ type: "text", text: "Hello." }] });
  },
);
