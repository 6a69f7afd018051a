/**
 * `holdfast connect` killed at moments drawn by chance in a paying call, and started again on the
 * same state: whatever the moment, the call has one effect, and an answer.
 */
import { disposeAll, seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { startHost, stateFile } from "./connect-host.ts";
import { serveWorker } from "./worker.ts";

afterEach(disposeAll);

/** `HOLDFAST_KILLS=100` for a long run. */
const rounds = Number(process.env.HOLDFAST_KILLS ?? 6);
const steps = 10;

test(`${verifies("K-03", "K-10")}killed ${rounds} times in mid-call: one effect each`, {
  timeout: 30_000 + rounds * 5_000,
}, async () => {
  const random = seededRandom(testSeed("moments of a kill"));
  const { url, effects } = await serveWorker();
  const state = stateFile();
  for (let round = 1; round <= rounds; round++) {
    const name = `payment ${round}`;
    const args = { name, steps, everyMs: 3 };
    const first = await startHost(url, { state });
    await first.initialize();
    const call = first.startTool("steady", args);
    // -1: before anything is known of it; the last: with the result on its way.
    const moment = round === 1 ? -1 : random.int(-1, steps);
    if (moment >= 0)
      await first.message(new RegExp(`"progressToken":${call},"progress":|"id":${call},`));
    if (moment > 0) await first.message(new RegExp(`"progress":${moment}\\b|"id":${call},`));
    await first.process.kill("SIGKILL");
    if (first.answers(call) > 0) {
      // Whoever has the answer does not ask again.
      expect(effects(name)).toBe(1);
      continue;
    }
    const second = await startHost(url, { state });
    await second.initialize();
    const { result, error } = await second.answer(second.startTool("steady", args));
    if (error === undefined) {
      expect(JSON.stringify(result)).toContain(`${name} done`);
      expect(effects(name)).toBe(1);
    } else {
      expect(error).toMatchObject({ code: -32011, data: { type: "outcome-unknown" } });
      expect(effects(name)).toBeLessThanOrEqual(1);
    }
    second.process.endInput();
    expect(await second.process.exited).toEqual({ code: 0, signal: null });
  }
});
