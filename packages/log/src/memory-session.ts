/**
 * One session of the memory log: its events in arrays, and what takes them away again.
 *
 * Mutable, and changed by three things alone: a plan, the caps, the window.
 */
import { type Retention, standaloneStream } from "@holdfast/contract";
import type {
  EventKind,
  Eviction,
  LoggedEvent,
  ReadLimit,
  SessionState,
  StreamState,
} from "./event-log.ts";
import type { EvictionTally } from "./eviction-tally.ts";
import { placeAt, pruneRuns } from "./incarnations.ts";
import { windowEndMs } from "./log-time.ts";
import type { Plan } from "./plan.ts";
import type { InboxEntry, NodeId } from "./shared-log.ts";

export interface MemoryEvent {
  readonly stream: MemoryStream;
  readonly position: number;
  readonly kind: EventKind;
  readonly text: string;
  readonly bytes: number;
  readonly atMs: number;
}

export interface MemoryStream {
  state: StreamState;
  /** Retained: the positions after `evictedThrough` up to the head. */
  readonly events: MemoryEvent[];
  finishedAtMs: number | undefined;
}

export interface MemorySession {
  state: SessionState;
  readonly streams: Map<number, MemoryStream>;
  /** Retained notifications and requests, oldest first: what a cap may evict. */
  readonly evictable: Set<MemoryEvent>;
  /** Finished streams whose window has not passed, in the order in which they finished. */
  readonly finished: MemoryStream[];
  /** Streams with a running call, rising. */
  readonly running: Set<number>;
  touchedAtMs: number;
  isUsed: boolean;
  bytes: number;
  responseBytes: number;
  endedAtMs: number | undefined;
  /** Only the tombstone is left. */
  isPurged: boolean;
  /** The node that owns it, its fencing token, and the incarnation under which it appends. */
  owner: NodeId | undefined;
  fence: number;
  incarnation: string;
  /** Entries for the owner, oldest first; those up to `takenThrough` are with it already. */
  readonly inbox: InboxEntry[];
  inboxBytes: number;
  inboxHead: number;
  takenThrough: number;
}

export function emptySession(
  state: SessionState,
  owner: NodeId | undefined,
  incarnation: string,
): MemorySession {
  return {
    state,
    streams: new Map(),
    evictable: new Set(),
    finished: [],
    running: new Set(),
    touchedAtMs: 0,
    isUsed: false,
    bytes: 0,
    responseBytes: 0,
    endedAtMs: undefined,
    isPurged: false,
    owner,
    fence: 1,
    incarnation,
    inbox: [],
    inboxBytes: 0,
    inboxHead: 0,
    takenThrough: 0,
  };
}

export function carryOut(session: MemorySession, plan: Plan, atMs: number): void {
  session.state = plan.session;
  if (plan.session.ended !== undefined) session.endedAtMs = atMs;
  if (plan.touch !== undefined) {
    session.touchedAtMs = atMs;
    // [C S-03] used once is used for good.
    session.isUsed ||= plan.touch.isUsed;
  }
  for (const state of plan.streams.values()) {
    const stream = session.streams.get(state.stream);
    if (stream === undefined) {
      session.streams.set(state.stream, { state, events: [], finishedAtMs: undefined });
      if (state.calls.length > 0) session.running.add(state.stream);
    } else {
      stream.state = state;
    }
  }
  for (const planned of plan.events) {
    const stream = session.streams.get(planned.stream);
    if (stream === undefined) throw new Error(`stream ${planned.stream} was planned, not kept`);
    const { position, kind, text, bytes } = planned;
    const event: MemoryEvent = { stream, position, kind, text, bytes, atMs };
    stream.events.push(event);
    session.bytes += bytes;
    if (kind === "response") session.responseBytes += bytes;
    else session.evictable.add(event);
  }
  for (const { stream: number } of plan.streams.values()) {
    const stream = session.streams.get(number);
    if (stream?.state.isFinished && stream.finishedAtMs === undefined) {
      stream.finishedAtMs = atMs;
      session.running.delete(number);
      session.finished.push(stream);
    }
  }
}

/**
 * Evict, oldest first, until the caps hold or nothing is left that they may take. A response is
 * never taken, and shields what comes after it in its stream [C W-03].
 */
export function enforceCaps(
  session: MemorySession,
  retention: Retention,
  nowMs: number,
  tally: EvictionTally,
): void {
  for (const event of session.evictable) {
    const cause = exceeded(session, retention);
    if (cause === undefined) return;
    const { stream } = event;
    if (event.position !== stream.state.evictedThrough + 1) continue;
    const endMs = windowEndMs(stream.state, event.atMs, stream.finishedAtMs, retention.windowMs);
    evictFirst(session, stream, nowMs, { cause, isBreach: nowMs < endMs }, tally);
  }
}

function exceeded(session: MemorySession, retention: Retention): "count" | "bytes" | undefined {
  if (session.evictable.size > retention.maxEvents) return "count";
  return session.bytes > retention.maxBytes ? "bytes" : undefined;
}

/**
 * Evict what the window has let go.
 *
 * @returns how many events went, at most `eventsMax`
 */
export function expire(
  session: MemorySession,
  windowMs: number,
  nowMs: number,
  eventsMax: number,
  tally: EvictionTally,
): number {
  let evicted = 0;
  const isDue = (stream: MemoryStream, atMs: number) =>
    windowEndMs(stream.state, atMs, stream.finishedAtMs, windowMs) <= nowMs;
  const drain = (stream: MemoryStream): boolean => {
    for (let first = stream.events[0]; first !== undefined; first = stream.events[0]) {
      if (evicted >= eventsMax || !isDue(stream, first.atMs)) return false;
      evictFirst(session, stream, nowMs, { cause: "window", isBreach: false }, tally);
      evicted += 1;
    }
    return true;
  };
  const standalone = session.streams.get(standaloneStream);
  if (standalone !== undefined) drain(standalone);
  for (let done = session.finished[0]; done !== undefined; done = session.finished[0]) {
    if (!isDue(done, 0) || !drain(done)) break;
    session.finished.shift();
  }
  return evicted;
}

function evictFirst(
  session: MemorySession,
  stream: MemoryStream,
  nowMs: number,
  why: Pick<Eviction, "cause" | "isBreach">,
  tally: EvictionTally,
): void {
  const event = stream.events.shift();
  if (event === undefined) throw new Error(`stream ${stream.state.stream} retains no event`);
  const { position, bytes, atMs } = event;
  session.bytes -= bytes;
  if (event.kind === "response") session.responseBytes -= bytes;
  else session.evictable.delete(event);
  const runs = pruneRuns(stream.state.runs, position);
  stream.state = { ...stream.state, evictedThrough: position, runs };
  const id = session.state.session;
  const ageMs = nowMs - atMs;
  tally.add({ session: id, stream: stream.state.stream, position, bytes, ageMs, ...why });
}

/** When the newest retained event was appended, log time; `undefined` if there is none. */
export function newestAtMs(session: MemorySession): number | undefined {
  let newest: number | undefined;
  for (const { events } of session.streams.values()) {
    const atMs = events.at(-1)?.atMs;
    if (atMs !== undefined && atMs >= (newest ?? atMs)) newest = atMs;
  }
  return newest;
}

/** The events of a stream after a position, within the limit. */
export function eventsAfter(
  { state, events }: MemoryStream,
  tag: string,
  position: number,
  limit: ReadLimit,
): readonly LoggedEvent[] {
  const shown: LoggedEvent[] = [];
  let bytes = 0;
  for (let i = position - state.evictedThrough; i < events.length; i += 1) {
    const event = events[i];
    if (event === undefined || shown.length >= limit.events) break;
    bytes += event.bytes;
    if (shown.length > 0 && bytes > limit.bytes) break;
    const { kind, text } = event;
    shown.push({ place: placeAt(tag, state, event.position), kind, text });
  }
  return shown;
}

/** Leave only the tombstone. */
export function purge(session: MemorySession): void {
  session.streams.clear();
  session.evictable.clear();
  session.finished.length = 0;
  session.running.clear();
  session.bytes = 0;
  session.responseBytes = 0;
  session.inbox.length = 0;
  session.inboxBytes = 0;
  session.isPurged = true;
  session.state = { ...session.state, data: "", nextStream: 0 };
}
