import { verifies } from "@holdfast/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { drainAndClose, splitTime, tellMs } from "./draining.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A gateway of which only the order of its steps is seen. */
function gateway(calls: number, timeoutMs: number) {
  const steps: string[] = [];
  const warnings: string[] = [];
  const closing = { isHanging: false };
  const never = new Promise<void>(() => {});
  const log = (_facts: object, message: string) => void steps.push(message);
  let left = calls;
  let allOver = () => {};
  const step = (name: string) => () => void steps.push(name);
  const stopped = drainAndClose({
    runtime: {
      callCount: () => left,
      drain: async (timeoutMs) => {
        steps.push(`runtime drains ${timeoutMs} ms`);
        const deadline = new Promise((resolve) => setTimeout(resolve, timeoutMs));
        const over = new Promise<void>((resolve) => {
          allOver = resolve;
        });
        await Promise.race([over, deadline]);
        return left;
      },
      close: async () => {
        steps.push("runtime closes");
        if (closing.isHanging) await never;
      },
    },
    listener: {
      drain: step("listener drains"),
      stop: step("listener stops"),
      close: async (lingerMs) => void steps.push(`listener closes within ${lingerMs} ms`),
    },
    logger: {
      debug: log,
      info: log,
      warn: (_facts, message) => void warnings.push(message),
      error: log,
    },
    timeoutMs,
  });
  const end = (count: number) => {
    left -= count;
    if (left === 0) allOver();
  };
  return { steps, warnings, closing, stopped, end };
}

test(`${verifies("D-02")}calls end first, and resumes are served until then`, async () => {
  const { steps, warnings, stopped, end } = gateway(2, 30_000);
  await vi.advanceTimersByTimeAsync(tellMs);
  end(1);
  await vi.advanceTimersByTimeAsync(tellMs);
  end(1);
  await stopped;
  expect(steps).toEqual([
    "draining: 2 calls in flight; another signal ends it at once",
    "listener drains",
    "runtime drains 25000 ms",
    "draining: 2 calls left",
    "draining: 1 calls left",
    "listener stops",
    "runtime closes",
    "listener closes within 500 ms",
  ]);
  expect(warnings).toEqual([]);
  await vi.advanceTimersByTimeAsync(10 * tellMs);
  expect(steps).toHaveLength(8);
});

test(`${verifies("D-02")}it ends within its time, whatever hangs`, async () => {
  const { warnings, closing, stopped } = gateway(3, 10_000);
  closing.isHanging = true;
  let isOver = false;
  void stopped.then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(9_999);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
  expect(warnings).toEqual([
    "closing with 3 calls that still run: their outcome will be unknown",
    "closing takes too long: what is left ends with this process",
  ]);
});

test.each([
  [0, 0, 1000],
  [1000, 0, 1000],
  [5000, 3750, 1250],
  [30_000, 25_000, 5000],
  [600_000, 595_000, 5000],
])("of %d ms the calls get %d, closing %d", (timeoutMs, callsMs, closeMs) => {
  expect(splitTime(timeoutMs)).toEqual({ callsMs, closeMs });
});
