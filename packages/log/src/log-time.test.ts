import { fakeClock, verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import type { StreamState } from "./event-log.ts";
import { restEndMs, startLogTime, windowEndMs } from "./log-time.ts";

test(`${verifies("S-02", "W-01")}log time is what has passed since, on the base, never short of a window`, () => {
  const clock = fakeClock();
  const time = startLogTime(clock, 500);
  expect([time.stampMs(), time.nowMs()]).toEqual([500, 500]);
  clock.advance(0.4);
  clock.stepWall(-1_000_000);
  expect([time.stampMs(), time.nowMs()]).toEqual([501, 500]);
  clock.advance(99.6);
  expect([time.stampMs(), time.nowMs()]).toEqual([600, 600]);
});

test(`${verifies("W-01")}a window ends with each event of the standalone stream, and once for a call`, () => {
  const standalone: StreamState = {
    stream: 0,
    calls: [],
    runs: [{ from: 0, incarnation: "aaaaaaaa" }],
    head: 1,
    evictedThrough: 0,
    writtenThrough: 0,
    isFinished: false,
  };
  const call = { id: "1", method: "tools/call", startedAtMs: 0, state: "running" } as const;
  expect(windowEndMs(standalone, 40, undefined, 100)).toBe(140);
  expect(windowEndMs({ ...standalone, calls: [call] }, 40, undefined, 100)).toBe(Infinity);
  expect(windowEndMs({ ...standalone, calls: [call] }, 40, 70, 100)).toBe(170);
});

test(`${verifies("S-02", "S-03")}a session has rested after its last use, and after its newest event's window`, () => {
  const limits = { idleTtlMs: 1_000, unusedTtlMs: 50, touchLagMs: 7, sessions: 1 };
  const used = { touchedAtMs: 200, isUsed: true };
  expect(restEndMs(used, () => undefined, limits, 5_000)).toBe(1_207);
  expect(restEndMs(used, () => 100, limits, 5_000)).toBe(5_100);
  expect(restEndMs(used, () => 100, limits, 600)).toBe(1_207);
  const asked = () => expect.unreachable("no event counts");
  expect(restEndMs({ ...used, isUsed: false }, asked, limits, 5_000)).toBe(250);
});
