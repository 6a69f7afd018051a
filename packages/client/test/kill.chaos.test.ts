/**
 * kill -9 at moments of chance while a call pays, started again with the same state each time: one
 * effect, its outcome known or a typed unknown, and no cursor that is later than what was handed on.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  disposeAll,
  onDispose,
  seededRandom,
  spawnProcess,
  testSeed,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { payingServer } from "./paying-server.ts";
import { holdfastCapability, withKeys } from "./world.ts";

afterEach(disposeAll);

const agent = fileURLToPath(new URL("agent.ts", import.meta.url));
const kills = Number(process.env.HOLDFAST_KILLS ?? 12);
/** From the first line of the process to the end of the call, roughly: where chance may strike. */
const strikeMsMax = 400;

test.each([
  ["keys", withKeys],
  ["no keys", holdfastCapability],
])(
  `${verifies("K-03", "K-10", "K-14")}a client that is killed, with a server that keeps %s`,
  async (_name, capability) => {
    const random = seededRandom(testSeed("kill.chaos"));
    const directory = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
    onDispose(() => rmSync(directory, { recursive: true, force: true }));
    let journal = "";
    const early: number[] = [];
    const server = await payingServer({
      ...{ capability, stepMs: 25 },
      onResume: (position) => {
        const seen = linesOf(journal).map(({ event }) => event ?? 0);
        // [C K-03] a cursor is stored after the hand-on, never before.
        if (position > Math.max(0, ...seen)) early.push(position);
      },
    });
    let known = 0;
    let order = 0;
    for (let killed = 0; killed < kills / 2; order += 1) {
      journal = join(directory, `journal-${order}`);
      const state = join(directory, `state-${order}`);
      const args = [agent, server.url, state, journal, String(order)];
      for (let life = random.int(1, 3); life > 0; life -= 1) {
        const child = await spawnProcess("node", args, { readyPattern: /^begun$/ });
        await new Promise((resolve) => setTimeout(resolve, random.int(0, strikeMsMax)));
        await child.kill();
        killed += 1;
      }
      const last = await spawnProcess("node", args, { readyPattern: /^begun$/ });
      expect(await last.exited).toEqual({ code: 0, signal: null });
      const outcomes = linesOf(journal).flatMap(({ outcome }) => outcome ?? []);
      expect(outcomes).toHaveLength(1);
      const charges = server.charges.get(String(order)) ?? 0;
      const [outcome] = outcomes;
      if (outcome?.result === undefined) {
        expect(outcome?.error).toMatchObject({ code: -32011, data: { type: "outcome-unknown" } });
        expect(charges).toBeLessThanOrEqual(1);
      } else {
        expect([outcome.result, charges]).toEqual([{ charged: String(order) }, 1]);
        known += 1;
      }
    }
    expect(early).toEqual([]);
    // Under a key it can always be known.
    if (capability === withKeys) expect(known).toBe(order);
  },
  600_000,
);

interface Line {
  readonly event?: number;
  readonly outcome?: { readonly result?: object; readonly error?: object };
}

function linesOf(journal: string): Line[] {
  if (!existsSync(journal)) return [];
  const text = readFileSync(journal, "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : (JSON.parse(line) as Line)));
}
