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
  Call,
  CallState,
  Claim,
  EventKind,
  Op,
  SessionId,
  SessionState,
  StreamState,
} from "./event-log.ts";
import { placeAt, recordRun } from "./incarnations.ts";
import {
  abandonKeys,
  claimKeys,
  type LedgerDraft,
  type LedgerEntry,
  settleKey,
} from "./ledger-draft.ts";
import { inboxBytesMax, inboxEntriesMax } from "./shared-log.ts";

/** What a plan must know of the log; looked up only as far as the operations need it. */
export interface Before {
  readonly id: SessionId;
  readonly session: SessionState | undefined;
  readonly stream: (stream: number) => StreamState | undefined;
  /** Streams of the session with a running call. */
  readonly running: () => readonly StreamState[];
  /** What the ledger holds of a key, if its time has not passed. */
  readonly claim: (scope: string, key: string) => Claim | undefined;
  /** The keys that are kept have as many bytes as they may; unset where there is no bound. */
  readonly isLedgerFull?: () => boolean;
  /** Bytes of the responses that the session retains. */
  readonly responseBytes: () => number;
  readonly incarnation: string;
  readonly wallMs: number;
  readonly bytesMax: number;
  /** Set in a shared log. */
  readonly shared?: {
    /** The session's newest fencing token, and the one that came with the commit. */
    readonly fence: number;
    readonly shownFence: number;
    /** What waits in the inbox. */
    readonly entries: number;
    readonly bytes: number;
  };
}

/** An entry for the inbox of the owner. */
export interface PlannedEntry {
  readonly text: string;
  readonly stream: number | undefined;
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

export interface Touch {
  readonly isUsed: boolean;
}

export interface Plan {
  readonly kind: "planned";
  readonly session: SessionState;
  /** Set: the session was in use, by a client that came back to it or not. */
  readonly touch: Touch | undefined;
  /** Every key that is new or changed in the ledger, as it is afterwards. */
  readonly claims: readonly LedgerEntry[];
  /** Every stream that is new or changed, as it is afterwards. */
  readonly streams: ReadonlyMap<number, StreamState>;
  /** Streams of which there is something new to show; not those that were merely `written`. */
  readonly news: ReadonlySet<number>;
  readonly events: readonly PlannedEvent[];
  readonly appended: readonly EventPlace[];
  readonly begun: readonly EventPlace[];
  readonly sent: readonly PlannedEntry[];
}

interface Draft {
  readonly before: Before;
  session: SessionState;
  touch: Touch | undefined;
  readonly ledger: LedgerDraft;
  readonly streams: Map<number, StreamState>;
  readonly news: Set<number>;
  readonly events: PlannedEvent[];
  readonly appended: EventPlace[];
  readonly begun: EventPlace[];
  readonly sent: PlannedEntry[];
  responseBytesAdded: number;
  sentBytes: number;
}

/** Outcomes of a commit that changes nothing. */
export type Refused =
  | { readonly kind: "absent" | "full" | "fenced" }
  | { readonly kind: "claimed"; readonly claim: Claim };

/** @throws AssertionError when an operation makes no sense in the state that it meets */
export function planCommit(before: Before, ops: readonly Op[]): Plan | Refused {
  const first = ops[0];
  const isCreated = first?.op === "create";
  assert(!isCreated || before.session === undefined, "create: the session was there before");
  const session = isCreated ? created(before, first) : before.session;
  if (session === undefined || session.ended !== undefined) return { kind: "absent" };
  if (!isCreated && isFenced(before, ops)) return { kind: "fenced" };
  const draft: Draft = {
    before,
    session,
    touch: isCreated ? { isUsed: false } : undefined,
    ledger: { session: before.id, before: before.claim, entries: new Map() },
    streams: new Map(),
    news: new Set(),
    events: [],
    appended: [],
    begun: [],
    sent: [],
    responseBytesAdded: 0,
    sentBytes: 0,
  };
  if (isCreated) begin(draft, standaloneStream, []);
  for (const op of isCreated ? ops.slice(1) : ops) {
    if (draft.session.ended !== undefined) {
      assert.fail(`${op.op}: the session was ended in this commit`);
    }
    if (op.op === "open" && isFull(draft)) return { kind: "full" };
    if (op.op === "send" && isInboxFull(draft)) return { kind: "full" };
    if (op.op !== "open") {
      apply(draft, op);
      continue;
    }
    const claim = claimKeys(draft.ledger, open(draft, op), op.calls);
    if (claim !== undefined) return { kind: "claimed", claim };
    if (op.calls.some(isNewKey) && before.isLedgerFull?.() === true) return { kind: "full" };
  }
  const { touch, ledger, streams, news, events, appended, begun, sent } = draft;
  const changes = { claims: [...ledger.entries.values()], streams, news, events, sent };
  return { kind: "planned", session: draft.session, touch, ...changes, appended, begun };
}

/** [C X-03] A key is never forgotten before its time: what is refused is one more. */
function isNewKey({ claim }: Call): boolean {
  return claim !== undefined && !claim.isRerun;
}

/** What any node may do, owner or not [C N-01]. */
const ofAnyNode: ReadonlySet<Op["op"]> = new Set(["open", "send", "attach", "touch", "written"]);

/** [C N-02] "the store refuses appends with an older token" */
function isFenced({ shared }: Before, ops: readonly Op[]): boolean {
  if (shared === undefined) return false;
  const { fence, shownFence } = shared;
  return shownFence === 0 ? !ops.every(({ op }) => ofAnyNode.has(op)) : shownFence !== fence;
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

function isInboxFull({ before, sent, sentBytes }: Draft): boolean {
  if (before.shared === undefined) assert.fail("send: the log is not shared");
  const { entries, bytes } = before.shared;
  return entries + sent.length >= inboxEntriesMax || bytes + sentBytes >= inboxBytesMax;
}

/** @returns the number of the new stream */
function open(draft: Draft, op: Extract<Op, { op: "open" }>): number {
  const stream = op.stream === "next" ? draft.session.nextStream : op.stream;
  if (stream < draft.session.nextStream) assert.fail(`open: ${stream} is not new`);
  if (op.calls.length === 0) assert.fail(`open: stream ${stream} has no call`);
  begin(
    draft,
    stream,
    op.calls.map((call) => ({ ...call, state: "running" })),
  );
  return stream;
}

function apply(draft: Draft, op: Exclude<Op, { op: "open" }>): void {
  switch (op.op) {
    case "create":
      assert.fail("create: only the first operation of a commit can be it");
      break;
    case "record":
      draft.session = { ...draft.session, data: op.data };
      break;
    case "append":
      append(draft, op);
      break;
    case "cancel": {
      const stream = streamOf(draft, op.stream);
      settle(draft, stream, op.call, { state: "cancelled" });
      settleKey(draft.ledger, stream, op.call, { kind: "unknown", reason: "window-expired" });
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
    case "touch":
      draft.touch = { isUsed: op.isUsed || draft.touch?.isUsed === true };
      break;
    case "send": {
      const stream = draft.begun.at(-1)?.stream;
      draft.sent.push({ text: op.text, stream: stream === standaloneStream ? undefined : stream });
      draft.sentBytes += Buffer.byteLength(op.text);
      break;
    }
    case "attach":
      if (draft.before.shared === undefined) assert.fail("attach: the log is not shared");
      put(draft, { ...streamOf(draft, op.stream), viewer: op.viewer });
      draft.news.add(op.stream);
      break;
    case "end":
      draft.session = { ...draft.session, ended: op.reason };
      abandonKeys(draft.ledger, running(draft));
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
  if (op.kind === "response") {
    draft.responseBytesAdded += bytes;
    settleKey(draft.ledger, before, op.call, outcomeOf(op));
  }
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

function outcomeOf(op: Extract<Op, { kind: "response" }>): Claim["outcome"] {
  const { text, unknown } = op;
  return unknown === undefined ? { kind: "answered", text } : { kind: "unknown", reason: unknown };
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

/** Streams that may have a running call, as they are now. */
function running({ before, streams }: Draft): Iterable<StreamState> {
  const states = new Map(before.running().map((state) => [state.stream, state]));
  for (const [stream, state] of streams) states.set(stream, state);
  return states.values();
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
