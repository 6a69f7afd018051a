import { type FakeClock, fakeClock, verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import {
  acceptEventLog,
  type CutLog,
  compareWithModel,
  cuttable,
  idempotencyTtlMs,
  type LogHarness,
  type LogPlace,
  roomy,
} from "../src/acceptance/index.ts";
import { type EventLog, memoryLog, memoryStore } from "../src/index.ts";

interface StorePlace extends LogPlace {
  readonly cuts: Map<EventLog, CutLog>;
}

/** Each log on the store of a place is a node. */
const harness: LogHarness<StorePlace> = {
  place: async () => {
    const store = memoryStore();
    const cuts = new Map<EventLog, CutLog>();
    const log = () => {
      const cut = cuttable(memoryLog(store));
      cuts.set(cut.log, cut);
      return cut.log;
    };
    return { cuts, log, remove: async () => {} };
  },
  shared: {
    leaseMs: 10_000,
    pass: async (_place, ms, clock: FakeClock) => clock.advance(ms),
    cut: async ({ cuts }, log) => {
      const heal = cuts.get(log)?.cut();
      return async () => heal?.();
    },
  },
};

acceptEventLog("memory, shared", harness);
compareWithModel("memory, shared", harness, { runs: 20 });

test(`${verifies("N-02")}a lease runs by the store's clock, whatever the nodes' clocks say`, async () => {
  const [ofStore, ofNode] = [fakeClock(), fakeClock()];
  const log = memoryLog(memoryStore({ clock: ofStore }));
  await log.open({ retention: roomy, idempotencyTtlMs, clock: ofNode, leaseMs: 1_000 });
  ofNode.advance(60_000);
  expect(await log.shared?.renew()).toBe(true);
  ofStore.advance(1_000);
  expect(await log.shared?.renew()).toBe(false);
  await log.close();
});
