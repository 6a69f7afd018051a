/** One open log with a clock by hand, and the short words in which the chapters are written. */
import { createHash } from "node:crypto";
import { type EventPlace, type Retention, standaloneStream } from "@holdfast/contract";
import { type FakeClock, fakeClock, onDispose } from "@holdfast/testkit";
import { expect } from "vitest";
import type {
  Call,
  CommitOutcome,
  EventLog,
  Eviction,
  KeyClaim,
  LoggedEvent,
  LogSettings,
  Op,
  ReadLimit,
  ReadOutcome,
  SessionId,
  StreamState,
} from "../event-log.ts";
import { placeAt } from "../incarnations.ts";
import { type Fences, fencesOf } from "./fences.ts";
import type { LogHarness, LogPlace } from "./harness.ts";

export const roomy: Retention = { windowMs: 60_000, maxEvents: 1_000, maxBytes: 1_000_000 };

/** Kept for so long after its call, a key is still there when events and sessions are gone. */
export const idempotencyTtlMs = 48 * 60 * 60_000;

const unlimited: ReadLimit = { events: 10_000, bytes: 100_000_000 };

export interface Scene {
  readonly place: LogPlace;
  readonly clock: FakeClock;
  readonly evictions: Eviction[];
  readonly log: EventLog;
  /** Close the log and open it again. */
  reopen(): Promise<void>;
  /** All of `ops` in one commit that must succeed. @returns the appended places */
  commit(session: SessionId, ...ops: Op[]): Promise<readonly EventPlace[]>;
  /** One commit, whatever comes of it. */
  attempt(session: SessionId, ops: readonly Op[], id?: string): Promise<CommitOutcome>;
  create(name: string): Promise<SessionId>;
  /** A new stream. @returns the place before its first event */
  open(session: SessionId, stream: number, calls?: number): Promise<EventPlace>;
  note(session: SessionId, stream: number, ...texts: string[]): Promise<readonly EventPlace[]>;
  answer(session: SessionId, stream: number, text: string, call?: number): Promise<EventPlace>;
  read(session: SessionId, cursor: EventPlace, limit?: ReadLimit): Promise<ReadOutcome>;
  /** The texts after a cursor that must be honoured. */
  texts(session: SessionId, cursor: EventPlace): Promise<readonly string[]>;
  state(session: SessionId, stream: number): Promise<StreamState>;
  at(session: SessionId, stream: number, position: number): Promise<EventPlace>;
  /** Steps of the sweep until none is behind. */
  sweep(): Promise<void>;
}

/** Open a log on a fresh place; it goes with the test. */
export async function openScene(
  harness: LogHarness,
  retention: Partial<Retention> = {},
  more: Pick<LogSettings, "ledgerBytesMax"> = {},
): Promise<Scene> {
  const place = await harness.place();
  const clock = fakeClock();
  const evictions: Eviction[] = [];
  let log = place.log();
  let fences: Fences;
  const leaseMs = harness.shared?.leaseMs ?? 0;
  const open = () => {
    fences = fencesOf(log, async () => harness.shared?.pass(place, leaseMs, clock));
    return log.open({
      retention: { ...roomy, ...retention },
      ...{ idempotencyTtlMs, ...more },
      clock,
      onEvicted: (eviction) => void evictions.push(eviction),
      ...(harness.shared && { leaseMs }),
    });
  };
  await open();
  onDispose(async () => {
    await log.close();
    await place.remove();
  });

  const attempt: Scene["attempt"] = (session, ops, id) => {
    const commit = (fence: number) =>
      log.commit(session, { fence, ops, ...(id === undefined ? {} : { id }) });
    const fence = fences.of(session);
    // At once where it is known: commits take effect in the order of their calls.
    return typeof fence === "number" ? commit(fence) : fence.then(commit);
  };
  const commit: Scene["commit"] = async (session, ...ops) => {
    const outcome = await attempt(session, ops);
    if (outcome.kind !== "committed") throw new Error(`not committed but ${outcome.kind}`);
    return outcome.appended;
  };
  const state: Scene["state"] = async (session, stream) => {
    const found = await log.stream(session, stream);
    if (found === undefined) throw new Error(`stream ${stream} is not known`);
    return found;
  };

  return {
    ...{ place, clock, evictions, attempt, commit, state },
    get log() {
      return log;
    },
    reopen: async () => {
      await log.close();
      log = place.log();
      await open();
    },
    create: async (name) => {
      const session = name as SessionId;
      await commit(session, creation(name));
      // So that what follows is committed when it is called.
      await fences.of(session);
      return session;
    },
    open: async (session, stream, calls = 1) => {
      const outcome = await attempt(session, [opening(stream, calls)]);
      const begun = outcome.kind === "committed" ? outcome.begun[0] : undefined;
      if (begun === undefined) throw new Error(`stream ${stream} was not opened: ${outcome.kind}`);
      return begun;
    },
    note: (session, stream, ...texts) =>
      commit(session, ...texts.map((text) => notification(stream, text))),
    answer: async (session, stream, text, call = 0) => {
      const [place] = await commit(session, response(stream, text, call));
      return place as EventPlace;
    },
    read: (session, cursor, limit = unlimited) => log.read(session, cursor, limit),
    texts: async (session, cursor) =>
      eventsOf(await log.read(session, cursor, unlimited)).map(text),
    at: async (session, stream, position) =>
      placeAt(tagOf(session), await state(session, stream), position),
    sweep: async () => {
      while ((await log.sweep()).isBehind);
    },
  };
}

/** The events of an outcome that must be some. */
export function eventsOf(outcome: ReadOutcome): readonly LoggedEvent[] {
  if (outcome.kind === "finished") return [];
  expect(outcome).toMatchObject({ kind: "events" });
  return outcome.kind === "events" ? outcome.events : [];
}

const text = (event: LoggedEvent) => event.text;

export function tagOf(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 16);
}

export function creation(name: string): Op {
  return { op: "create", tag: tagOf(name), principal: `owner of ${name}`, data: `data of ${name}` };
}

export function opening(stream: number | "next", calls = 1): Op & { readonly op: "open" } {
  return { op: "open", stream, calls: Array.from({ length: calls }, (_, i) => callOf(stream, i)) };
}

/** A call under an idempotency key. */
export function keyed(stream: number | "next", key: string, claim: Partial<KeyClaim> = {}): Op {
  const whole: KeyClaim = { scope: "all", key, digest: "digest", isRerun: false, ...claim };
  return { op: "open", stream, calls: [{ ...callOf(stream, 0), claim: whole }] };
}

export function callOf(stream: number | "next", index: number): Call {
  const call = {
    id: `${(stream === "next" ? 0 : stream) * 10 + index}`,
    method: "tools/call",
    startedAtMs: 1_700_000_000_000,
  };
  return index === 0 ? { ...call, name: "charge" } : call;
}

export function notification(stream: number, text: string): Op {
  return { op: "append", stream, kind: "notification", text };
}

export function response(stream: number, text: string, call = 0): Op {
  return { op: "append", stream, kind: "response", text, call };
}

/** Texts `from` … `to`: "n1", "n2" … */
export function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => `n${from + i}`);
}

export { standaloneStream };
