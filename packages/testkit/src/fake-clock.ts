/** A clock that a test moves by hand. No timers hang on it: who waits asks again. */

export interface FakeClock {
  /** Milliseconds; never steps back. */
  monotonicMs(): number;
  /** Milliseconds since the epoch; may step either way. */
  wallMs(): number;
  /** Let time pass: both clocks move on. */
  advance(byMs: number): void;
  /** Set the wall clock forward or back; no time passes. */
  stepWall(byMs: number): void;
}

const wallStartMs = Date.UTC(2030, 0, 1);

export function fakeClock(startMs = wallStartMs): FakeClock {
  // Not 0: code that takes 0 for "never" must fail.
  let monotonic = 1_000_000;
  let wall = startMs;
  return {
    monotonicMs: () => monotonic,
    wallMs: () => wall,
    advance: (byMs) => {
      if (byMs < 0) throw new RangeError(`time does not pass backwards: ${byMs} ms`);
      monotonic += byMs;
      wall += byMs;
    },
    stepWall: (byMs) => {
      wall += byMs;
    },
  };
}
