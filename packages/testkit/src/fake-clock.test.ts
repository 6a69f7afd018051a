import { expect, test } from "vitest";
import { fakeClock } from "./fake-clock.ts";

test("time moves both clocks, a step the wall clock alone", () => {
  const clock = fakeClock();
  const before = { monotonic: clock.monotonicMs(), wall: clock.wallMs() };
  clock.advance(250);
  clock.stepWall(-3_600_000);
  expect(clock.monotonicMs() - before.monotonic).toBe(250);
  expect(clock.wallMs() - before.wall).toBe(250 - 3_600_000);
  expect(() => clock.advance(-1)).toThrow(RangeError);
});
