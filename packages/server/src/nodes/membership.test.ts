import type { NodeId, SharedLog } from "@holdfast/log";
import { verifies } from "@holdfast/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { Membership, storeLeaseMs } from "./membership.ts";

afterEach(() => vi.useRealTimers());

test(`${verifies("N-03")}a death is seen within the lease, whenever it comes between two renewals`, async () => {
  const leaseMs = 10_000;
  for (let killedAfterMs = 0; killedAfterMs < leaseMs / 3; killedAfterMs += 250) {
    vi.useFakeTimers();
    const [us, other] = ["us" as NodeId, "other" as NodeId];
    const startedAtMs = performance.now();
    const sinceMs = () => performance.now() - startedAtMs;
    // The other one renewed when we started, and dies later: its lease is over by the store's clock.
    const shared = {
      node: us,
      leaseMs: storeLeaseMs(leaseMs),
      renew: async () => true,
      nodes: async () => (sinceMs() < storeLeaseMs(leaseMs) ? [us, other] : [us]),
      followNodes: () => () => {},
    };
    const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
    const logger = { info() {}, warn() {}, error() {} };
    let seenMs: number | undefined;
    const membership = new Membership(shared as unknown as SharedLog, clock, logger as never, {
      onLost: () => expect.fail("it renews"),
      onNodes: () => {
        if (!membership.isAlive(other)) seenMs ??= sinceMs();
      },
    });
    // Our own renewals are at any time in relation to the other's.
    await vi.advanceTimersByTimeAsync(killedAfterMs);
    membership.start(performance.now());
    await vi.advanceTimersByTimeAsync(2 * leaseMs);
    membership.stop();
    // Half a second is left to restore the session in.
    expect(seenMs).toBeLessThanOrEqual(leaseMs - 500);
    vi.useRealTimers();
  }
});
