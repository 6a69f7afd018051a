/** Time that a test moves: a clock and its timers. Nothing here waits for real time to pass. */
import type { Clock } from "@holdfast/client";

export interface VirtualTime {
  readonly clock: Clock;
  readonly setTimer: (run: () => void, delayMs: number) => () => void;
  nowMs(): number;
  /** When the next timer is due; undefined without one. */
  nextMs(): number | undefined;
  /** Let time pass, timer by timer; after each one everything that it began comes to rest. */
  pass(ms: number): Promise<void>;
  /** Let time pass until the next timer has run. @returns how long that took */
  toNext(): Promise<number>;
}

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

const startMs = Date.UTC(2030, 0, 1);

export function virtualTime(): VirtualTime {
  const timers = new Set<Timer>();
  let now = 1_000_000;
  const next = () => [...timers].toSorted((a, b) => a.dueMs - b.dueMs)[0];
  const time: VirtualTime = {
    clock: { monotonicMs: () => now, wallMs: () => startMs + now },
    setTimer: (run, delayMs) => {
      const timer = { dueMs: now + Math.max(0, delayMs), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    nowMs: () => now,
    nextMs: () => next()?.dueMs,
    pass: async (ms) => {
      const until = now + ms;
      await rest();
      for (let timer = next(); timer !== undefined && timer.dueMs <= until; timer = next()) {
        now = Math.max(now, timer.dueMs);
        timers.delete(timer);
        timer.run();
        await rest();
      }
      now = until;
    },
    toNext: async () => {
      await rest();
      const timer = next();
      if (timer === undefined) throw new Error("no timer is set");
      const waitedMs = timer.dueMs - now;
      await time.pass(waitedMs);
      return waitedMs;
    },
  };
  return time;
}

/** Everything that needs no time has happened: promises, streams in memory, the end of the turn. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
