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

test("answers about who lives are taken in order, one at a time; a death is told twice", async () => {
  const [us, other] = ["us" as NodeId, "other" as NodeId];
  const asked: PromiseWithResolvers<readonly NodeId[]>[] = [];
  let wake = () => {};
  let isAsked = Promise.withResolvers<void>();
  const shared = {
    node: us,
    leaseMs: 60_000,
    renew: async () => true,
    nodes: () => {
      const answer = Promise.withResolvers<readonly NodeId[]>();
      asked.push(answer);
      isAsked.resolve();
      isAsked = Promise.withResolvers();
      return answer.promise;
    },
    followNodes: (told: () => void) => {
      wake = told;
      return () => {};
    },
  };
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const logger = { info() {}, warn() {}, error() {} };
  const told: boolean[] = [];
  const membership = new Membership(shared as unknown as SharedLog, clock, logger as never, {
    onLost: () => expect.fail("it renews"),
    onNodes: () => told.push(membership.isAlive(other)),
  });
  const answer = async (nodes: readonly NodeId[], isLast = false) => {
    const next = isAsked.promise;
    asked.at(-1)?.resolve(nodes);
    if (!isLast) await next;
    else await new Promise((resolve) => setImmediate(resolve));
  };
  membership.start(performance.now());
  // Woken while the first question is out: one more is asked after it, not beside it.
  wake();
  wake();
  expect(asked).toHaveLength(1);
  await answer([us, other]);
  expect(told).toEqual([true]);
  await answer([us]);
  expect(told).toEqual([true, false]);
  await answer([us], true);
  expect(told).toEqual([true, false, false]);
  expect(asked).toHaveLength(3);
  membership.stop();
});
