/**
 * What a commit means: from the states before it and its operations to the states and the events
 * after it. Pure; each log carries a plan out in its own way, and enforces the caps afterwards.
 *
 * Wrong operations are mistakes of the session runtime, not of a client: they fail assertions,
 * written so that a message is made only when it is needed.
 */
import assert from "node:assert/strict";
import { type EventPlace, standaloneStream } from "@holdfast/contract";
import type {
  CallState,
  EventKind,
  Op,
  SessionId,
  SessionState,
  StreamState,
} from "./event-log.ts";
import { placeAt, recordRun } from "./incarnations.ts";

/** What a plan must know of the log; looked up only as far as the operations need it. */
export interface Before {
  readonly id: SessionId;
  readonly session: SessionState | undefined;
  readonly stream: (stream: number) => StreamState | undefined;
  /** Bytes of the responses that the session retains. */
  readonly responseBytes: () => number;
  readonly incarnation: string;
  readonly wallMs: number;
  readonly bytesMax: number;
}

export interface PlannedEvent {
  readonly stream: number;
  readonly position: number;
  readonly kind: EventKind;
  readonly text: string;
  readonly bytes: number;
  /** It answers the stream's last running call. */
  readonly isLast: boolean;
}

export interface Plan {
  readonly kind: "planned";
  readonly session: SessionState;
  /** Every stream that is new or changed, as it is afterwards. */
  readonly streams: ReadonlyMap<number, StreamState>;
  /** Streams of which there is something new to show; not those that were merely `written`. */
  readonly news: ReadonlySet<number>;
  readonly events: readonly PlannedEvent[];
  readonly appended: readonly EventPlace[];
  readonly begun: readonly EventPlace[];
}

interface Draft {
  readonly before: Before;
  session: SessionState;
  readonly streams: Map<number, StreamState>;
  readonly news: Set<number>;
  readonly events: PlannedEvent[];
  readonly appended: EventPlace[];
  readonly begun: EventPlace[];
  responseBytesAdded: number;
}

/** @throws AssertionError when an operation makes no sense in the state that it meets */
export function planCommit(
  before: Before,
  ops: readonly Op[],
): Plan | { readonly kind: "absent" | "full" } {
  const first = ops[0];
  const isCreated = first?.op === "create";
  assert(!isCreated || before.session === undefined, "create: the session was there before");
  const session = isCreated ? created(before, first) : before.session;
  if (session === undefined || session.ended !== undefined) return { kind: "absent" };
  const draft: Draft = {
    before,
    session,
    streams: new Map(),
    news: new Set(),
    events: [],
    appended: [],
    begun: [],
    responseBytesAdded: 0,
  };
  if (isCreated) begin(draft, standaloneStream, []);
  for (const op of isCreated ? ops.slice(1) : ops) {
    if (draft.session.ended !== undefined) {
      assert.fail(`${op.op}: the session was ended in this commit`);
    }
    if (op.op === "open" && isFull(draft)) return { kind: "full" };
    apply(draft, op);
  }
  const { streams, news, events, appended, begun } = draft;
  return { kind: "planned", session: draft.session, streams, news, events, appended, begun };
}

function created(before: Before, op: Extract<Op, { op: "create" }>): SessionState {
  const { tag, principal, data } = op;
  const createdAtMs = before.wallMs;
  return { session: before.id, tag, principal, data, createdAtMs, nextStream: 0 };
}

/** [C W-03] "When responses alone fill maxBytes, new requests get 503" */
function isFull(draft: Draft): boolean {
  return draft.before.responseBytes() + draft.responseBytesAdded >= draft.before.bytesMax;
}

function apply(draft: Draft, op: Op): void {
  switch (op.op) {
    case "create":
      assert.fail("create: only the first operation of a commit can be it");
      break;
    case "record":
      draft.session = { ...draft.session, data: op.data };
      break;
    case "open":
      if (op.stream < draft.session.nextStream) assert.fail(`open: ${op.stream} is not new`);
      if (op.calls.length === 0) assert.fail(`open: stream ${op.stream} has no call`);
      begin(
        draft,
        op.stream,
        op.calls.map((call) => ({ ...call, state: "running" })),
      );
      break;
    case "append":
      append(draft, op);
      break;
    case "cancel": {
      const stream = streamOf(draft, op.stream);
      settle(draft, stream, op.call, { state: "cancelled" });
      draft.news.add(op.stream);
      break;
    }
    case "written": {
      const stream = streamOf(draft, op.stream);
      if (op.position > stream.head) assert.fail(`written: ${op.position} is past the head`);
      const writtenThrough = Math.max(stream.writtenThrough, op.position);
      if (writtenThrough !== stream.writtenThrough) put(draft, { ...stream, writtenThrough });
      break;
    }
    case "end":
      draft.session = { ...draft.session, ended: op.reason };
      break;
  }
}

function begin(draft: Draft, stream: number, calls: readonly CallState[]): void {
  const state: StreamState = {
    stream,
    calls,
    runs: [{ from: 0, incarnation: draft.before.incarnation }],
    head: 0,
    evictedThrough: 0,
    writtenThrough: 0,
    isFinished: false,
  };
  put(draft, state);
  draft.news.add(stream);
  draft.begun.push(placeAt(draft.session.tag, state, 0));
  draft.session = { ...draft.session, nextStream: stream + 1 };
}

function append(draft: Draft, op: Extract<Op, { op: "append" }>): void {
  const before = streamOf(draft, op.stream);
  if (before.isFinished) assert.fail(`append: stream ${op.stream} is finished`);
  const position = before.head + 1;
  const runs = recordRun(before.runs, position, draft.before.incarnation);
  const grown: StreamState = { ...before, head: position, runs };
  const after =
    op.kind === "response"
      ? settle(draft, grown, op.call, { state: "answered", position })
      : put(draft, grown);
  const bytes = Buffer.byteLength(op.text);
  if (op.kind === "response") draft.responseBytesAdded += bytes;
  const { stream, kind, text } = op;
  draft.news.add(stream);
  draft.events.push({ stream, position, kind, text, bytes, isLast: after.isFinished });
  draft.appended.push({
    tag: draft.session.tag,
    stream,
    position,
    incarnation: draft.before.incarnation,
  });
}

type Settled =
  | { readonly state: "answered"; readonly position: number }
  | { readonly state: "cancelled" };

function settle(draft: Draft, stream: StreamState, index: number, settled: Settled): StreamState {
  const call = stream.calls[index];
  if (call?.state !== "running") {
    assert.fail(`call ${index} of stream ${stream.stream} is not running`);
  }
  const calls = stream.calls.with(index, { ...call, ...settled });
  const isFinished = calls.every((one) => one.state !== "running");
  return put(draft, { ...stream, calls, isFinished });
}

function streamOf(draft: Draft, stream: number): StreamState {
  const state = draft.streams.get(stream) ?? draft.before.stream(stream);
  if (state === undefined) assert.fail(`stream ${stream} is not known`);
  return state;
}

function put(draft: Draft, state: StreamState): StreamState {
  draft.streams.set(state.stream, state);
  return state;
}
