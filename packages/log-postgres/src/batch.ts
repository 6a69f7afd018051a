/**
 * Commits of many sessions, carried out in one trip to the store: planned here, checked and written
 * there. What the store refuses because it has changed meanwhile is planned again on what it is now.
 */
import { LogError } from "@holdfast/contract";
import {
  type Commit,
  createEvictionTally,
  type Eviction,
  pruneRuns,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import type { SessionEntry } from "./book.ts";
import type { Desk } from "./desk.ts";
import { type Answer, type Draft, draftWrite, type Recall } from "./draft.ts";
import { type Loaded, load } from "./load.ts";
import type { UncertainWrites } from "./uncertain.ts";
import type { News } from "./wakes.ts";
import { newWriteName, type PlannedWrite, writeValues } from "./write-values.ts";

/** Commits to one session under one fence, in the order of their calls. */
export interface Group {
  readonly session: SessionId;
  readonly commits: readonly Commit[];
}

export interface Done extends News {
  /** One for each commit, in their order. */
  readonly answers: readonly Answer[];
  readonly evictions: readonly Eviction[];
}

/** How often one group may find the store changed; each time another node has made progress. */
const roundsMax = 50;

interface Pending {
  readonly group: Group;
  isFresh: boolean;
  rounds: number;
  /** The write that was sent last. */
  sent: { readonly name: string; readonly draft: Draft } | undefined;
}

/** A row of commit.sql. */
interface CommitRow {
  readonly g: number;
  readonly what: "term" | "done" | "repeated" | "fenced" | "evicted";
  readonly session: number;
  readonly version: number;
  readonly stream: number;
  readonly position: number;
  readonly bytes: number;
  readonly cause: Eviction["cause"];
  readonly is_breach: boolean;
  readonly at_ms: number;
}

/**
 * @param done - told of each group as soon as it is over; of a part of it first, it may be
 * @throws LogError `ERR_LOG_UNAVAILABLE`: of the groups that `done` was not told of nothing is known
 */
export async function runBatch(
  desk: Desk,
  uncertain: UncertainWrites,
  groups: readonly Group[],
  done: (group: Group, done: Done) => void,
): Promise<void> {
  let left: Pending[] = groups.map((group) => ({
    group,
    isFresh: uncertain.has(group.session),
    rounds: 0,
    sent: undefined,
  }));
  try {
    while (left.length > 0) left = await runRound(desk, uncertain, left, done);
  } catch (error) {
    for (const { group, sent } of left) noteUncertain(desk, uncertain, group, sent);
    throw error;
  }
}

function noteUncertain(
  desk: Desk,
  uncertain: UncertainWrites,
  { session, commits }: Group,
  sent: Pending["sent"],
): void {
  desk.book.drop(session);
  if (sent === undefined) return;
  const outcomes = sent.draft.answers.flatMap((answer, i) => {
    const id = commits[i]?.id;
    return answer.kind === "mistake" || id === undefined ? [] : [[id, answer.outcome] as const];
  });
  uncertain.add(session, { name: sent.name, outcomes });
}

/** @returns those that have to be planned again */
async function runRound(
  desk: Desk,
  uncertain: UncertainWrites,
  pending: Pending[],
  done: (group: Group, done: Done) => void,
): Promise<Pending[]> {
  const loaded = await load(
    desk,
    pending.map(({ group, isFresh }) => ({ ...group, isFresh })),
  );
  for (const [session, names] of loaded.writes) uncertain.settle(session, names);
  const again: Pending[] = [];
  const writes: { readonly one: Pending; readonly planned: PlannedWrite; readonly draft: Draft }[] =
    [];
  for (const one of pending) {
    const { session } = one.group;
    if (one.sent !== undefined && loaded.writes.get(session)?.includes(one.sent.name)) {
      // It took effect; what came after it is not known.
      again.push(...finish(desk, uncertain, one, one.sent.draft, [], done));
      continue;
    }
    const incarnation = desk.randomIncarnation();
    const recall = (id: string | undefined) =>
      desk.attempts.recall(session, id) ?? uncertain.recall(session, id);
    const draft = plan(desk, one, loaded, incarnation, recall);
    if (draft.answers.length === 0) {
      again.push(refreshed(one));
    } else if (draft.write === undefined) {
      again.push(...finish(desk, uncertain, one, draft, [], done));
    } else {
      const name = newWriteName();
      const fence = one.group.commits[0]?.fence ?? 0;
      const entry = desk.book.entry(session);
      const planned = { name, write: draft.write, entry, fence, incarnation };
      writes.push({ one, planned, draft });
    }
  }
  if (writes.length === 0) return again;
  for (const { one, planned, draft } of writes) one.sent = { name: planned.name, draft };
  const rows = await send(
    desk,
    writes.map(({ planned }) => planned),
  );
  // The store was found to have lost something: all is planned again on what is known now.
  if (rows.some(({ what }) => what === "term")) await desk.meet();
  // Without a verdict it is stale.
  writes.forEach(({ one, planned, draft }, i) => {
    const own = rows.filter(({ g }) => g === i + 1);
    const verdict = own.find(({ what }) => what !== "evicted");
    if (verdict?.what === "done" || verdict?.what === "repeated") {
      const evicted = own.filter(({ what }) => what === "evicted");
      if (verdict.what === "done") enter(desk, planned, verdict, evicted);
      else desk.book.drop(one.group.session);
      again.push(...finish(desk, uncertain, one, draft, evicted, done));
    } else if (verdict?.what === "fenced") {
      desk.book.drop(one.group.session);
      done(one.group, allFenced(one.group));
    } else {
      again.push(refreshed(one));
    }
  });
  return again;
}

function plan(
  { book, settings, node }: Desk,
  { group, isFresh }: Pending,
  { claims }: Loaded,
  incarnation: string,
  recall: Recall,
): Draft {
  return draftWrite(
    {
      id: group.session,
      entry: book.entry(group.session),
      claims,
      ...{ incarnation, node: node() },
      wallMs: settings.clock.wallMs(),
      bytesMax: settings.retention.maxBytes,
    },
    group.commits,
    recall,
    isFresh,
  );
}

function refreshed(one: Pending): Pending {
  one.isFresh = true;
  one.rounds += 1;
  if (one.rounds > roundsMax) {
    throw new LogError(
      "ERR_LOG_UNAVAILABLE",
      "A session changes faster than it can be planned on.",
      {
        hint: "Look for another node that writes to the same session without end.",
        seen: one.rounds,
      },
    );
  }
  return one;
}

async function send(desk: Desk, writes: readonly PlannedWrite[]): Promise<readonly CommitRow[]> {
  const { connections, settings, time, term, node } = desk;
  const { maxEvents, maxBytes, windowMs } = settings.retention;
  const { generation } = term();
  return connections.ask<CommitRow>(
    "commit-call",
    ...writeValues(writes, time.stampMs(), generation),
    ...[node(), generation, maxEvents, maxBytes, windowMs],
    ...[time.nowMs(), time.nowMs() - settings.idempotencyTtlMs],
  );
}

/** What took effect, as it is known from now on. */
function enter(
  { book }: Desk,
  { write, entry: known, incarnation }: PlannedWrite,
  { session: id, version }: CommitRow,
  evicted: readonly CommitRow[],
): void {
  const entry: SessionEntry = known ?? {
    ...{ id, version, state: write.session, responseBytes: 0, incarnation, isOld: false },
    ...{ holding: write.holding, inbox: { entries: 0, bytes: 0 } },
    ...{ streams: new Map(), hasRunning: true, claims: new Map() },
  };
  entry.version = version;
  entry.holding = write.holding;
  entry.inbox = {
    entries: entry.inbox.entries + write.sent.length,
    bytes:
      entry.inbox.bytes + write.sent.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
  };
  entry.state = write.session;
  for (const [stream, state] of write.streams) entry.streams.set(stream, state);
  for (const { kind, bytes } of write.events) if (kind === "response") entry.responseBytes += bytes;
  for (const [stream, state] of afterEvictions(entry.streams, evicted)) {
    entry.streams.set(stream, state);
  }
  for (const [stream, { isFinished }] of entry.streams)
    if (isFinished) entry.streams.delete(stream);
  for (const [
    name,
    {
      entry: { claim },
    },
  ] of write.claims) {
    if (claim.outcome.kind === "running") entry.claims.set(name, claim);
    else entry.claims.delete(name);
  }
  book.put(entry);
}

function afterEvictions(
  states: ReadonlyMap<number, StreamState>,
  evicted: readonly CommitRow[],
): ReadonlyMap<number, StreamState> {
  if (evicted.length === 0) return states;
  const after = new Map(states);
  for (const { stream, position } of evicted) {
    const state = after.get(stream);
    if (state === undefined) continue;
    const runs = pruneRuns(state.runs, position);
    after.set(stream, { ...state, evictedThrough: position, runs });
  }
  return after;
}

/** @returns what is left of it, if there was a doubtful commit */
function finish(
  desk: Desk,
  uncertain: UncertainWrites,
  one: Pending,
  { answers, write }: Draft,
  evicted: readonly CommitRow[],
  done: (group: Group, done: Done) => void,
): Pending[] {
  const { group } = one;
  const { session } = group;
  answers.forEach((answer, i) => {
    // Nothing is remembered of a session that is not there, nor of a mistake.
    if (answer.kind === "mistake" || answer.outcome.kind === "absent") return;
    desk.attempts.remember(session, group.commits[i]?.id, answer.outcome);
  });
  if (write !== undefined) uncertain.forget(session);
  const tally = createEvictionTally();
  const nowMs = desk.time.nowMs();
  for (const { stream, position, bytes, cause, is_breach: isBreach, at_ms } of evicted) {
    tally.add({ session, stream, position, bytes, cause, isBreach, ageMs: nowMs - at_ms });
  }
  done(group, {
    answers,
    evictions: tally.list(),
    news: new Set([...(write?.news ?? []), ...evicted.map(({ stream }) => stream)]),
    isEnd: write?.session.ended !== undefined,
    states: afterEvictions(write?.streams ?? new Map(), evicted),
    toTell:
      write !== undefined && write.sent.length > 0
        ? { row: desk.book.entry(session)?.id ?? 0, owner: write.holding.owner ?? "everyone" }
        : undefined,
  });
  const commits = group.commits.slice(answers.length);
  return commits.length === 0
    ? []
    : [{ group: { session, commits }, isFresh: true, rounds: 0, sent: undefined }];
}

function allFenced({ commits }: Group): Done {
  const answers = commits.map(() => ({ kind: "outcome", outcome: { kind: "fenced" } }) as const);
  return {
    answers,
    evictions: [],
    news: new Set(),
    isEnd: false,
    states: new Map(),
    toTell: undefined,
  };
}
