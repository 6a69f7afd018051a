/** `holdfast demo`, run as a user runs it; and single exhibits, changed so that rows must change. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { disposeAll, onDispose, verifies, within } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { exitCodeOf } from "../src/demo/command.ts";
import { demoPace, type Exhibit, exhibits } from "../src/demo/exhibits.ts";
import { demoProcesses } from "../src/demo/processes.ts";
import { type Row, type Stack, stacks } from "../src/demo/row.ts";
import { runExhibit } from "../src/demo/run-exhibit.ts";
import { holdfast, scratchDirectory } from "./gateway-process.ts";

afterEach(disposeAll);

const demoMsMax = 110_000;
/** Node's timers may fire a little early by a finer clock. */
const clockSlackMs = 5;

test(
  `${verifies("S-01", "S-07", "E-04", "R-01", "R-03", "R-09", "X-01", "X-05")}the demo: Holdfast is right in every row, and every figure adds up`,
  async () => {
    const demo = await holdfast(["demo", "--json"]);
    const { code } = await within(demo.exited, "the end of the demo", demoMsMax);
    const rows = JSON.parse(demo.stdout) as Row[];
    expect(rows.map(({ exhibit, stack }) => [exhibit, stack])).toEqual(
      exhibits.flatMap(({ id }) => stacks.map((stack) => [id, stack])),
    );
    for (const row of rows) {
      expect(demo.stderr).toContain(exhibits.find(({ id }) => id === row.exhibit)?.title);
      expectSound(row);
    }
    for (const row of rows.filter(({ stack }) => stack !== "stock")) {
      expect(row).toMatchObject({ effects: row.incident === 1 ? 1 : null, doubled: 0 });
      expect(row.lostTold, row.exhibit).toBe(row.lost);
      // [C X-05] "-32011 `outcome-unknown` on its stream": one call, and no second one after it
      const kind = row.exhibit === "killed-server" ? "outcome-unknown" : "result";
      expect(row).toMatchObject({ attempts: [{ kind }], isRight: true });
    }
    // [C R-03] "lostEvents": a number, that of the entries which did not come
    for (const row of rows.filter(
      ({ exhibit, stack }) => exhibit === "evicted-cursor" && stack !== "stock",
    )) {
      expect(row.lost).toBeGreaterThan(0);
    }
    expect(code).toBe(0);
    // Not our business, but good to know: the exhibit is to be replaced by one that still fails.
    for (const row of rows.filter(({ stack, isRight }) => stack === "stock" && isRight)) {
      console.warn(`the stock SDK is right in "${row.exhibit}" by now`);
    }
  },
  demoMsMax + 10_000,
);

/** What holds of a measured row, on either stack. */
function expectSound(row: Row): void {
  const results = row.attempts.filter(({ kind }) => kind === "result").length;
  const isKilled = row.exhibit === "killed-server";
  expect(row.kills).toBe(isKilled ? 1 : 0);
  if (!isKilled) expect(row.cuts, "a real cut").toBeGreaterThan(0);
  if (row.exhibit === "second-cut") expect(row.cuts).toBeGreaterThan(1);
  if (row.exhibit === "refused-resume") expect(row.refusals).toBeGreaterThan(0);
  if (row.incident === 1) {
    expect([row.effects, row.lost]).toEqual([row.sent, row.sent - results]);
    expect(row.attempts.length).toBeGreaterThanOrEqual(row.sent);
  } else {
    expect(row.sent).toBe(row.attempts.length * (demoPace.entriesBefore + demoPace.entriesAfter));
  }
  const sum = row.attempts.reduce((ms, { tookMs }) => ms + tookMs, 0);
  expect(row.tookMs).toBeCloseTo(sum);
  for (const attempt of row.attempts) {
    const shortest = row.incident === 1 ? demoPace.chargeMs : demoPace.closingMs;
    if (attempt.kind === "result") {
      expect(attempt.tookMs).toBeGreaterThan(shortest - clockSlackMs);
    } else if (/timed out/.test(attempt.message)) {
      expect(attempt.tookMs).toBeGreaterThan(demoPace.callTimeoutMs - clockSlackMs);
    }
  }
}

const quickPace = { ...demoPace, chargeMs: 300, closingMs: 50, callTimeoutMs: 4000 };

function exhibit(id: string): Exhibit {
  const found = exhibits.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no exhibit "${id}"`);
  return found;
}

/** Run a changed exhibit, with a call timeout so short or long as is given. */
async function run(changed: Exhibit, stack: Stack, pace = quickPace): Promise<Row> {
  const processes = demoProcesses();
  onDispose(() => processes.stopAll());
  const { signal } = new AbortController();
  const directory = join(scratchDirectory(), "run");
  return runExhibit({ exhibit: changed, stack, pace, directory, processes, signal });
}

test.each(stacks)("without a fault the row of %s is right", async (stack) => {
  const row = await run({ ...exhibit("idle-cut"), disturb: async () => {} }, stack);
  expect(row).toMatchObject({
    effects: 1,
    sent: 1,
    lost: 0,
    isRight: true,
    cuts: 0,
    refusals: 0,
  });
});

test("a stock store that is large enough loses nothing: the loss is measured, not written", async () => {
  const store = { kind: "ring", eventsMax: 1000 } as const;
  const row = await run({ ...exhibit("evicted-cursor"), store }, "stock");
  expect(row).toMatchObject({ sent: 160, lost: 0, lostTold: 0, isRight: true });
  expect(row.cuts).toBeGreaterThan(0);
});

test("a stock store that is smaller loses more", async () => {
  const store = { kind: "ring", eventsMax: 10 } as const;
  const row = await run({ ...exhibit("evicted-cursor"), store }, "stock");
  // The result takes one of the ten places.
  expect(row).toMatchObject({ sent: 160, lost: 130, lostTold: 0, isRight: false });
});

test("Holdfast set up against this client is wrong, and the exit code says so", async () => {
  // [C R-09] "status": a client that does not know the contract is never served in-band
  const serveOptions = [...exhibit("evicted-cursor").serveOptions, "--gap-signal", "status"];
  const pace = { ...quickPace, attemptsMax: 1 };
  const row = await run({ ...exhibit("evicted-cursor"), serveOptions }, "holdfast", pace);
  expect(row).toMatchObject({ lostTold: 0, isRight: false, attempts: [{ kind: "error" }] });
  expect(row.lost).toBeGreaterThan(100);
  expect(exitCodeOf([row])).toBe(1);
});

test("a killed Holdfast that forgets its log is wrong: the word of it comes from the log", async () => {
  const killed = exhibit("killed-server");
  const serveOptions = [...killed.serveOptions, "--log", "memory"];
  const pace = { ...quickPace, chargeMs: demoPace.chargeMs, attemptsMax: 1 };
  const row = await run({ ...killed, serveOptions }, "holdfast", pace);
  expect(row).toMatchObject({ effects: 1, lost: 1, lostTold: 0, kills: 1, isRight: false });
  expect(row.attempts).toMatchObject([{ kind: "error" }]);
});

test("a server that does not start is told, with what it said", async () => {
  const serveOptions = ["--window", "1m"];
  const failing = run({ ...exhibit("idle-cut"), serveOptions }, "holdfast");
  await expect(failing).rejects.toThrow(/could not be started: .*code 2.*1m/s);
});

/** Command lines of the running processes that name a place. Linux only. */
function processesNaming(place: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(place));
}

test.skipIf(process.platform !== "linux").each([
  ["at once", /exhibits, each on/],
  ["in the middle", /Holdfast, the cursor is evicted/],
])("Ctrl-C %s: exit code 130, no row, no process or file left behind", async (_when, line) => {
  const place = scratchDirectory();
  const demo = await holdfast(["demo"], place, { TMPDIR: place });
  await demo.line(line);
  expect(await demo.kill("SIGINT")).toEqual({ code: 130, signal: null });
  expect(demo.stdout).toBe("");
  expect(demo.stderr).not.toMatch(/fault|Error/);
  expect(readdirSync(place)).toEqual([]);
  expect(processesNaming(place)).toEqual([]);
});

test("without the official SDK a sentence says what to install", async () => {
  const hook = `import { registerHooks } from "node:module";
    registerHooks({ resolve: (specifier, context, next) =>
      next(specifier.replace("@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk-gone"), context) });`;
  const demo = await holdfast(["demo"], scratchDirectory(), {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hook)}`,
  });
  expect((await within(demo.exited, "the exit")).code).toBe(1);
  expect(demo.stdout).toBe("");
  expect(demo.stderr).toMatch(
    /^holdfast: .*@modelcontextprotocol\/sdk, which is not installed\.\n/,
  );
  expect(demo.stderr).toMatch(/\nInstall it .*npm install @modelcontextprotocol\/sdk\n$/);
});
