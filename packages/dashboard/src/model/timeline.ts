/**
 * The timeline of one session: one lane for each stream, with its calls, its events, the viewports
 * that showed it, and what was lost.
 *
 * It grows by items of the feed, in their order; what the session itself says (a snapshot of its
 * streams) tells where the feed has holes. Pure; drawing is done elsewhere.
 *
 *     viewport:  attached ──▶ open ──detached──▶ cut   (finished and ended are no cuts)
 */
import type { CallOutcome, DetachCause, EndReason, EventKind, FeedItem } from "./feed.ts";

export interface TimelineCall {
  readonly method: string;
  readonly name?: string;
  readonly startedAtMs: number;
  settledAtMs?: number;
  outcome?: CallOutcome;
}

/** Events in a row of one kind, at one moment. */
export interface Tick {
  readonly atMs: number;
  readonly position: number;
  readonly through: number;
  readonly event: EventKind;
  readonly bytes: number;
}

/** One viewport. */
export interface Bar {
  readonly fromMs: number;
  readonly after: number;
  readonly isResume: boolean;
  toMs?: number;
  cause?: DetachCause | "process-ended";
  shown?: number;
}

export interface TimelineGap {
  readonly atMs: number;
  readonly from: number;
  readonly to: number;
  readonly lostEvents: number | null;
  readonly isInBand: boolean;
}

export interface Lane {
  readonly stream: number;
  calls: TimelineCall[];
  readonly ticks: Tick[];
  readonly bars: Bar[];
  readonly gaps: TimelineGap[];
  head: number;
  /** Positions up to here are gone from the log. */
  evictedThrough: number;
  isFinished: boolean;
}

export interface Timeline {
  readonly tag: string;
  client?: string;
  begunAtMs?: number;
  endedAtMs?: number;
  ended?: EndReason;
  /** In no order; the standalone stream, 0, is always there. */
  readonly lanes: Map<number, Lane>;
  /** Starts and ends of the gateway, and take-overs of the session. */
  readonly turns: { readonly atMs: number; readonly kind: "started" | "stopped" | "adopted" }[];
}

/** What the session says of a stream. */
export interface StreamFacts {
  readonly stream: number;
  readonly head: number;
  readonly evictedThrough: number;
  readonly isFinished: boolean;
  readonly calls: readonly {
    readonly method: string;
    readonly name?: string;
    readonly startedAtMs: number;
    readonly state: "running" | "answered" | "cancelled";
  }[];
}

/** Ticks and bars of a lane beyond these: the oldest go. */
const ticksMax = 5_000;
const barsMax = 500;

export function emptyTimeline(tag: string): Timeline {
  const timeline: Timeline = { tag, lanes: new Map(), turns: [] };
  laneOf(timeline, 0);
  return timeline;
}

/** Take one item in; those of other sessions change nothing. @returns whether it changed something */
export function takeItem(timeline: Timeline, item: FeedItem): boolean {
  if (!("tag" in item)) {
    takeTurn(timeline, item.kind, item.atMs);
    return true;
  }
  if (item.tag !== timeline.tag) return false;
  const { atMs } = item;
  switch (item.kind) {
    case "begun":
      timeline.begunAtMs = atMs;
      if (item.client !== undefined) timeline.client = item.client;
      break;
    case "ended":
      timeline.endedAtMs = atMs;
      timeline.ended = item.reason;
      break;
    case "adopted":
      timeline.turns.push({ atMs, kind: "adopted" });
      break;
    case "opened":
      laneOf(timeline, item.stream).calls = item.calls.map((call) => ({
        ...call,
        startedAtMs: atMs,
      }));
      break;
    default:
      takeLaneItem(laneOf(timeline, item.stream), item);
  }
  return true;
}

type LaneItem = Extract<FeedItem, { readonly stream: number }>;

function takeLaneItem(lane: Lane, item: Exclude<LaneItem, { readonly kind: "opened" }>): void {
  const { atMs } = item;
  switch (item.kind) {
    case "appended":
      // Read twice, once in a snapshot's history and once live, it is there once.
      if (item.through <= lane.head && lane.ticks.some((tick) => tick.position === item.position)) {
        return;
      }
      lane.ticks.push(item);
      if (lane.ticks.length > ticksMax) lane.ticks.shift();
      lane.head = Math.max(lane.head, item.through);
      return;
    case "settled": {
      const call = lane.calls[item.call];
      if (call !== undefined) Object.assign(call, { settledAtMs: atMs, outcome: item.outcome });
      lane.isFinished = lane.calls.every(({ outcome }) => outcome !== undefined);
      return;
    }
    case "attached":
      closeBars(lane, atMs, "taken-over", item.after);
      lane.bars.push({ fromMs: atMs, after: item.after, isResume: item.isResume });
      if (lane.bars.length > barsMax) lane.bars.shift();
      return;
    case "detached": {
      // A viewport that was taken over ends after the one that took over began.
      const bar =
        item.cause === "taken-over"
          ? lane.bars.findLast(({ cause }) => cause === "taken-over")
          : lane.bars.findLast(({ toMs }) => toMs === undefined);
      if (bar !== undefined) Object.assign(bar, { cause: item.cause, shown: item.shown });
      if (bar !== undefined) bar.toMs ??= atMs;
      return;
    }
    case "gap":
      lane.gaps.push(item);
      return;
  }
}

/** The gateway stopped, or started: whatever it was showing, it shows no more. */
function takeTurn(timeline: Timeline, kind: FeedItem["kind"], atMs: number): void {
  if (kind !== "started" && kind !== "stopped") return;
  timeline.turns.push({ atMs, kind });
  for (const lane of timeline.lanes.values()) closeBars(lane, atMs, "process-ended");
}

function closeBars(
  lane: Lane,
  atMs: number,
  cause: NonNullable<Bar["cause"]>,
  shown?: number,
): void {
  for (const bar of lane.bars) {
    if (bar.toMs !== undefined) continue;
    Object.assign(bar, { toMs: atMs, cause }, shown === undefined ? {} : { shown });
  }
}

/** What the session says counts: streams that the feed has forgotten, heads that it never told. */
export function takeFacts(timeline: Timeline, streams: readonly StreamFacts[]): void {
  for (const facts of streams) {
    const lane = laneOf(timeline, facts.stream);
    lane.head = Math.max(lane.head, facts.head);
    lane.evictedThrough = Math.max(lane.evictedThrough, facts.evictedThrough);
    lane.isFinished ||= facts.isFinished;
    if (lane.calls.length === 0) {
      lane.calls = facts.calls.map(({ state: _state, ...call }) => ({ ...call }));
    }
    facts.calls.forEach(({ state }, index) => {
      const call = lane.calls[index];
      if (call !== undefined && state !== "running") call.outcome ??= state;
    });
  }
}

/** Positions of a lane that no item told of: they are in the log, when they came is not known. */
export function untold(lane: Lane): readonly { readonly from: number; readonly through: number }[] {
  const holes: { from: number; through: number }[] = [];
  let next = 1;
  for (const tick of lane.ticks.toSorted((a, b) => a.position - b.position)) {
    if (tick.position > next) holes.push({ from: next, through: tick.position - 1 });
    next = Math.max(next, tick.through + 1);
  }
  if (lane.head >= next) holes.push({ from: next, through: lane.head });
  return holes;
}

/** A viewport was lost, and none follows it yet. */
export function isCut(bar: Bar): boolean {
  return bar.toMs !== undefined && bar.cause !== "finished" && bar.cause !== "ended";
}

function laneOf(timeline: Timeline, stream: number): Lane {
  const known = timeline.lanes.get(stream);
  if (known !== undefined) return known;
  const lane: Lane = {
    ...{ stream, calls: [], ticks: [], bars: [], gaps: [] },
    ...{ head: 0, evictedThrough: 0, isFinished: false },
  };
  timeline.lanes.set(stream, lane);
  return lane;
}
