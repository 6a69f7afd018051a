import { disposeAll, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import {
  acceptEventLog,
  acceptLedgerBound,
  type LogHarness,
  openScene,
} from "../src/acceptance/index.ts";
import { memoryLog } from "../src/index.ts";

afterEach(disposeAll);

const harness: LogHarness = {
  // What it holds lives as long as the object: a place is one object.
  place: async () => {
    const log = memoryLog();
    return { log: () => log, remove: async () => {} };
  },
};

acceptEventLog("memory", harness);
acceptLedgerBound("memory", harness);

test(`${verifies("W-01", "c022")}a sweep looks at a bounded number of sessions, and at all in the end`, async () => {
  const scene = await openScene(harness, { windowMs: 1_000 });
  for (let i = 0; i < 2_500; i += 1) await scene.note(await scene.create(`s${i}`), 0, "n");
  scene.clock.advance(1_000);
  let steps = 0;
  for (let isBehind = true; isBehind; steps += 1) {
    const before = scene.evictions.length;
    ({ isBehind } = await scene.log.sweep());
    expect(scene.evictions.length - before).toBeLessThanOrEqual(500);
  }
  expect(scene.evictions).toHaveLength(2_500);
  expect(steps).toBeGreaterThanOrEqual(5);
});
