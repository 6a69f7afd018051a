/** The property behind the chapters: any log does, step by step, what the memory log does. */
import type { EventPlace, Retention } from "@holdfast/contract";
import {
  disposeAll,
  type FakeClock,
  fakeClock,
  onDispose,
  testSeed,
  verifies,
} from "@holdfast/testkit";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type {
  Commit,
  EventLog,
  Eviction,
  ReadOutcome,
  SessionId,
  SessionState,
  StreamState,
} from "../event-log.ts";
import { memoryLog } from "../memory-log.ts";
import { memoryStore } from "../memory-store.ts";
import type { Holding, NodeId } from "../shared-log.ts";
import { type Fences, fencesOf } from "./fences.ts";
import type { LogHarness } from "./harness.ts";
import { cursorOf, keyNames, opsOf, type Step, sessionNames, steps } from "./model-steps.ts";
import { creation } from "./scene.ts";

/** So small that every bound is met often. */
const retention: Retention = { windowMs: 1_000, maxEvents: 7, maxBytes: 400 };

const idempotencyTtlMs = 5_000;

export interface ModelOptions {
  readonly runs: number;
}

export function compareWithModel(name: string, harness: LogHarness, { runs }: ModelOptions): void {
  describe(`event log: ${name}`, () => {
    afterEach(disposeAll);
    test(`${verifies("E-02", "E-08", "R-01", "R-03", "R-04", "R-05", "R-06", "W-01", "W-03", "W-04", "S-02", "S-04", "X-03")}does what the memory log does`, async () => {
      const property = fc.asyncProperty(steps(harness.shared !== undefined), async (given) => {
        const pair = await openPair(harness);
        for (const step of given) await takeStep(pair, step);
        for (const session of sessionNames) await compareSession(pair, session as SessionId);
        await compareLedger(pair);
        await pair.close();
      });
      await fc.assert(property, { seed: testSeed("does what the memory log does"), numRuns: runs });
    });
  });
}

/** One log with what it told of evictions. */
interface Side {
  log: EventLog;
  fences: Fences;
  readonly evictions: Eviction[];
}

const never = () => Promise.reject(new Error("another node holds the session"));

/** Not open yet. */
function sideOf(log: EventLog): Side {
  return { log, fences: fencesOf(log, never), evictions: [] };
}

interface Made {
  readonly session: SessionId;
  readonly commit: Commit;
  readonly isUnfenced: boolean;
}

interface Pair {
  readonly clock: FakeClock;
  readonly model: Side;
  readonly subject: Side;
  /** Every place that was given out. */
  readonly known: EventPlace[];
  readonly commits: Made[];
  /** How many there ever were. */
  made: number;
  /** Of each session: the numbers with which the inbox was asked last, and is to be asked next. */
  readonly taken: Map<SessionId, readonly [before: number, newest: number]>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

async function openPair(harness: LogHarness): Promise<Pair> {
  const clock = fakeClock();
  const place = await harness.place();
  const isShared = harness.shared !== undefined;
  const model = sideOf(isShared ? memoryLog(memoryStore()) : memoryLog());
  const subject = sideOf(place.log());
  let opened = 0;
  const open = async () => {
    opened += 1;
    // The same for both: places can be compared as they are.
    const incarnation = `run${String(opened).padStart(5, "0")}`;
    for (const side of [model, subject]) {
      const onEvicted = (eviction: Eviction) => void side.evictions.push(eviction);
      side.fences = fencesOf(side.log, never);
      await side.log.open({
        ...{ retention, idempotencyTtlMs, clock, onEvicted },
        randomIncarnation: () => incarnation,
      });
    }
  };
  await open();
  const forget = onDispose(async () => {
    await subject.log.close();
    await place.remove();
  });
  return {
    ...{ clock, model, subject, known: [], commits: [], made: 0, taken: new Map() },
    reopen: async () => {
      await model.log.close();
      await subject.log.close();
      subject.log = place.log();
      await open();
    },
    close: async () => {
      forget();
      await subject.log.close();
      await place.remove();
    },
  };
}

async function takeStep(pair: Pair, step: Step): Promise<void> {
  switch (step.step) {
    case "create":
      return commit(pair, nameOf(step.session), [creation(nameOf(step.session))]);
    case "commit": {
      const session = nameOf(step.session);
      const state = await pair.model.log.session(session);
      const ops = opsOf(step.parts, state, await streamsOf(pair, state));
      return commit(pair, session, ops, step.isUnfenced);
    }
    case "take":
      return take(pair, step);
    case "repeat": {
      const again = pair.commits.at(-1 - step.back);
      if (again !== undefined) await submit(pair, again);
      return;
    }
    case "read":
      return read(pair, step);
    case "advance":
      return pair.clock.advance(step.byMs);
    case "rested": {
      const [expected, actual] = await both(pair, (log) => log.rested(step.limits));
      return expect([...actual].sort()).toEqual([...expected].sort());
    }
    case "sweep":
      for (const { log } of [pair.model, pair.subject]) while ((await log.sweep()).isBehind);
      return compareEvictions(pair);
    case "reopen":
      await pair.reopen();
      // Attempts do not outlive the process that may repeat them, nor what was taken its owner.
      pair.commits.length = 0;
      pair.taken.clear();
      return;
  }
}

async function commit(
  pair: Pair,
  session: SessionId,
  ops: Commit["ops"],
  isUnfenced = false,
): Promise<void> {
  pair.made += 1;
  const one = { session, commit: { id: `commit ${pair.made}`, fence: 0, ops }, isUnfenced };
  pair.commits.push(one);
  await submit(pair, one);
  await compareSession(pair, session);
  await compareLedger(pair);
}

async function submit(pair: Pair, { session, commit, isUnfenced }: Made): Promise<void> {
  const [expected, actual] = await Promise.allSettled(
    [pair.model, pair.subject].map(async ({ log, fences }) => {
      const fence = isUnfenced ? 0 : await fences.of(session);
      const outcome = await log.commit(session, { ...commit, fence });
      return outcome.kind === "committed" ? ownedOrNot(log, outcome) : outcome;
    }),
  );
  if (expected === undefined || actual === undefined) throw new Error("a log was not asked");
  if (expected.status === "rejected") {
    expect(actual).toMatchObject({ reason: { message: expected.reason.message } });
    return;
  }
  expect(actual).toEqual(expected);
  if (expected.value.kind === "committed") {
    pair.known.push(...expected.value.appended, ...expected.value.begun);
  }
  await new Promise((resolve) => setImmediate(resolve));
  compareEvictions(pair);
}

async function take(pair: Pair, step: Extract<Step, { step: "take" }>): Promise<void> {
  const session = nameOf(step.session);
  const [before, newest] = pair.taken.get(session) ?? [0, 0];
  const after = step.isAgain ? before : newest;
  const [expected, actual] = await Promise.all(
    [pair.model, pair.subject].map(async ({ log, fences }) => {
      const outcome = await log.shared?.take(session, await fences.of(session), after, step.limit);
      if (outcome?.kind !== "taken") return { kind: outcome?.kind, entries: [] };
      // Nodes have names of their own.
      return { kind: outcome.kind, entries: outcome.entries.map(({ from: _, ...entry }) => entry) };
    }),
  );
  expect(actual).toEqual(expected);
  pair.taken.set(session, [after, expected?.entries.at(-1)?.number ?? after]);
}

async function read(pair: Pair, step: Extract<Step, { step: "read" }>): Promise<void> {
  const cursor = cursorOf(step, pair.known);
  const session = nameOf(step.session);
  // Followed now and then: what a log keeps at hand must be what it has stored.
  if (step.pick % 3 === 0) pair.subject.log.follow(session, cursor.stream, () => {});
  const expected = await pair.model.log.read(session, cursor, step.limit);
  const actual: ReadOutcome = await pair.subject.log.read(session, cursor, step.limit);
  expect(actual).toEqual(expected);
  if (expected.kind === "gap") pair.known.push(expected.gap.oldest, expected.gap.head);
}

async function compareSession(pair: Pair, session: SessionId): Promise<void> {
  const [expected, state] = await both(pair, async (log) => {
    const found = await log.session(session);
    return found && ownedOrNot(log, found);
  });
  expect(state).toEqual(expected);
  for (const state of await streamsOf(pair, expected)) {
    expect(await pair.subject.log.stream(session, state.stream)).toEqual(state);
  }
  const [running, found] = await both(pair, (log) => log.running(session));
  expect(found).toEqual(running);
}

async function compareLedger(pair: Pair): Promise<void> {
  for (const key of keyNames) {
    const [expected, actual] = await both(pair, (log) => log.claim("all", key));
    expect(actual).toEqual(expected);
  }
  for (const principal of [undefined, ...sessionNames.map((name) => `owner of ${name}`)]) {
    const [expected, actual] = await both(pair, (log) => log.liveSessions(principal));
    expect(actual).toBe(expected);
  }
}

/** Nodes have names of their own: said is whether the session is this log's. */
function ownedOrNot<What extends { readonly holding?: Holding }>(log: EventLog, what: What): What {
  const { holding } = what;
  if (holding === undefined) return what;
  const owner = (holding.owner === log.shared?.node ? "mine" : "another") as NodeId;
  return { ...what, holding: { ...holding, owner } };
}

/** What the model says, and what the subject does. */
async function both<Answer>(
  { model, subject }: Pair,
  ask: (log: EventLog) => Promise<Answer>,
): Promise<readonly [Answer, Answer]> {
  return [await ask(model.log), await ask(subject.log)];
}

function compareEvictions({ model, subject }: Pair): void {
  expect(summed(subject.evictions.splice(0))).toEqual(summed(model.evictions.splice(0)));
}

/** However many steps a sweep took. */
function summed(evictions: readonly Eviction[]): Record<string, Eviction> {
  const sums: Record<string, Eviction> = {};
  for (const one of evictions) {
    const key = `${one.session} ${one.stream} ${one.cause} ${one.isBreach}`;
    const sum = sums[key];
    const events = (sum?.events ?? 0) + one.events;
    const bytes = (sum?.bytes ?? 0) + one.bytes;
    const ageMs = Math.min(one.ageMs, sum?.ageMs ?? one.ageMs);
    const through = Math.max(one.through, sum?.through ?? 0);
    sums[key] = { ...one, events, bytes, through, ageMs };
  }
  return sums;
}

async function streamsOf(
  { model }: Pair,
  state: SessionState | undefined,
): Promise<readonly StreamState[]> {
  const states: StreamState[] = [];
  for (let stream = 0; stream < (state?.nextStream ?? 0); stream += 1) {
    const found = state && (await model.log.stream(state.session, stream));
    if (found !== undefined) states.push(found);
  }
  return states;
}

function nameOf(session: number): SessionId {
  return (sessionNames[session] ?? "one") as SessionId;
}
