import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import type { SessionItem } from "./feed.ts";
import { emptyTimeline, isCut, type Timeline, takeFacts, takeItem, untold } from "./timeline.ts";

const tag = "0123456789abcdef";
const t = 1_700_000_000_000;

type Told = SessionItem extends infer Item
  ? Item extends SessionItem
    ? Omit<Item, "tag">
    : never
  : never;

function timelineOf(...items: readonly Told[]): Timeline {
  const timeline = emptyTimeline(tag);
  for (const item of items) takeItem(timeline, { ...item, tag } as SessionItem);
  return timeline;
}

const opened: Told = { kind: "opened", atMs: t, stream: 1, calls: [{ method: "ping" }] };
const attached = (atMs: number, after = 0, isResume = false): Told => ({
  ...{ kind: "attached", atMs, stream: 1, after, isResume },
});
const detached = (atMs: number, cause: "finished" | "disconnected" | "taken-over"): Told => ({
  ...{ kind: "detached", atMs, stream: 1, cause, shown: 2 },
});
const appended = (atMs: number, position: number, through = position): Told => ({
  ...{ kind: "appended", atMs, stream: 1, position, through, event: "notification", bytes: 9 },
});
const laneOf = (timeline: Timeline) => {
  const lane = timeline.lanes.get(1);
  if (lane === undefined) throw new Error("stream 1 has no lane");
  return lane;
};

test(`${verifies("W-06")}a cut and a resume are two bars; a finished viewport is no cut`, () => {
  const { bars } = laneOf(
    timelineOf(
      ...[opened, attached(t), detached(t + 5, "disconnected")],
      ...[attached(t + 9, 2, true), detached(t + 12, "finished")],
    ),
  );
  expect(
    bars.map((bar) => [bar.fromMs - t, (bar.toMs ?? 0) - t, isCut(bar), bar.isResume]),
  ).toEqual([
    [0, 5, true, false],
    [9, 12, false, true],
  ]);
});

test("a viewport that is taken over ends where the next one begins, and leaves that one alone", () => {
  const { bars } = laneOf(
    timelineOf(opened, attached(t), attached(t + 7, 1, true), detached(t + 8, "taken-over")),
  );
  expect(bars).toMatchObject([{ toMs: t + 7, cause: "taken-over", shown: 2 }, { fromMs: t + 7 }]);
  expect(bars[1]?.toMs).toBeUndefined();
});

test("what a process that died was showing, it shows no more", () => {
  const timeline = timelineOf(opened, attached(t));
  takeItem(timeline, { kind: "started", atMs: t + 50 });
  expect(laneOf(timeline).bars).toMatchObject([{ toMs: t + 50, cause: "process-ended" }]);
  expect(timeline.turns).toEqual([{ atMs: t + 50, kind: "started" }]);
});

test("events that no item told of are untold, not left out", () => {
  const timeline = timelineOf(opened, appended(t, 2, 3), appended(t + 1, 6));
  takeFacts(timeline, [
    {
      ...{ stream: 1, head: 8, evictedThrough: 1, isFinished: true },
      calls: [{ method: "ping", startedAtMs: t, state: "answered" }],
    },
  ]);
  expect(untold(laneOf(timeline))).toEqual([
    { from: 1, through: 1 },
    { from: 4, through: 5 },
    { from: 7, through: 8 },
  ]);
  expect(laneOf(timeline)).toMatchObject({ isFinished: true, calls: [{ outcome: "answered" }] });
});

test("an item that comes twice is there once; those of others change nothing", () => {
  const timeline = timelineOf(opened, appended(t, 1, 2), appended(t, 1, 2));
  expect(laneOf(timeline).ticks).toHaveLength(1);
  const other = { kind: "ended", tag: "f".repeat(16), atMs: t, reason: "deleted" } as const;
  expect(takeItem(timeline, other)).toBe(false);
  expect(timeline.ended).toBeUndefined();
});
