/**
 * Everything at once: calls, cuts, and kill -9 of gateway and child. `npm run soak` runs 200
 * rounds; `HOLDFAST_SEED=… npm run soak` runs those of a seed again.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { disposeAll, seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory } from "./gateway-process.ts";
import { judgeHistory } from "./soak/checker.ts";
import { runSoak } from "./soak/workload.ts";

afterEach(disposeAll);

const server = fileURLToPath(new URL("./soak/server.ts", import.meta.url));
const rounds = Number(process.env.HOLDFAST_SOAK_ROUNDS ?? 8);
const roundMsMax = 15_000;

test(
  `${verifies("S-07", "X-03", "X-05", "E-02", "R-03")}kill -9 soak: nothing lost unseen, nothing twice, no call without an end`,
  async () => {
    const seed = testSeed("the soak");
    if (rounds > 8) console.log(`soak: ${rounds} rounds with HOLDFAST_SEED=${seed}`);
    const random = seededRandom(seed);
    const directory = scratchDirectory();
    const effectsFile = join(directory, "effects");
    const args = [
      ...["serve", "--heartbeat", "200ms", "--max-events", String(random.pick([60, 10_000]))],
      ...["--log-level", "error", "--", process.execPath, server, effectsFile],
    ];
    const history = await runSoak({ rounds, random, directory, args });
    const effects = existsSync(effectsFile)
      ? readFileSync(effectsFile, "utf8")
          .split("\n")
          .filter((line) => line !== "")
      : [];
    expect(judgeHistory(history, effects)).toEqual([]);
    const posts = history.filter(({ kind }) => kind === "posted").length;
    if (rounds > 8)
      console.log(`soak: ${posts} calls, ${effects.length} effects, all as it should`);
    expect(effects.length).toBeGreaterThan(0);
  },
  60_000 + rounds * roundMsMax,
);
