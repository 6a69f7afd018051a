/** What commits have to know before they can be planned: asked for in one trip, seldom in two. */
import {
  type Claim,
  type Commit,
  ledgerName,
  type PossibleLoss,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import type { SessionEntry } from "./book.ts";
import type { Question } from "./connections.ts";
import type { Desk } from "./desk.ts";
import {
  type ClaimRow,
  claimOf,
  holdingOf,
  incarnationOf,
  indexed,
  type SessionRow,
  type StreamRow,
  sessionOf,
  streamOf,
} from "./rows.ts";

export interface Wanted {
  readonly session: SessionId;
  readonly commits: readonly Commit[];
  /** Everything is to be read anew, and keys as well. */
  readonly isFresh: boolean;
}

export interface Loaded {
  /** Names of the writes to each session that was read, newest last. */
  readonly writes: ReadonlyMap<SessionId, readonly string[]>;
  /** What the ledger holds of the keys that were asked for, by ledger name. */
  readonly claims: ReadonlyMap<string, Claim>;
}

/** Bring the book to where `wanted` can be planned on it. */
export async function load(desk: Desk, wanted: readonly Wanted[]): Promise<Loaded> {
  const writes = await loadSessions(desk, wanted);
  return { writes, claims: await loadClaims(desk, wanted) };
}

interface Needs {
  readonly sessions: SessionId[];
  readonly streams: { readonly session: SessionId; readonly stream: number }[];
  readonly running: SessionId[];
}

async function loadSessions(desk: Desk, wanted: readonly Wanted[]): Promise<Loaded["writes"]> {
  const { connections, book, term } = desk;
  const needs: Needs = { sessions: [], streams: [], running: [] };
  for (const one of wanted) addNeeds(needs, one, book.entry(one.session));
  const writes = new Map<SessionId, readonly string[]>();
  const { sessions, streams, running } = needs;
  const questions: Question[] = [];
  // Sessions first: what is read after a session can only be newer, and its version tells.
  if (sessions.length > 0) questions.push({ name: "sessions", values: [sessions] });
  if (streams.length > 0) {
    const values = [streams.map(({ session }) => session), streams.map(({ stream }) => stream)];
    questions.push({ name: "streams", values });
  }
  if (running.length > 0) questions.push({ name: "running", values: [running] });
  if (questions.length === 0) return writes;
  const answers = await connections.askAll(questions);
  const rowsOf = (name: Question["name"]) =>
    answers[questions.findIndex((question) => question.name === name)] ?? [];
  const rows = rowsOf("sessions") as readonly SessionRow[];
  if (rows.some((row) => row.version < (book.entry(row.name as SessionId)?.version ?? 0))) {
    await desk.onOlder();
  }
  const { loss } = term();
  for (const session of sessions) book.drop(session);
  for (const row of rows) {
    book.put(entryOf(row, loss));
    writes.set(row.name as SessionId, row.writes);
  }
  const keep = (row: StreamRow & { name: string }) =>
    book.entry(row.name as SessionId)?.streams.set(row.stream, streamOf(row, loss));
  for (const row of rowsOf("streams")) keep(row as StreamRow & { name: string });
  for (const row of rowsOf("running")) keep(row as StreamRow & { name: string });
  for (const session of running) {
    const entry = book.entry(session);
    if (entry !== undefined) entry.hasRunning = true;
  }
  return writes;
}

function addNeeds(needs: Needs, { session, commits, isFresh }: Wanted, known?: SessionEntry): void {
  const ops = commits.flatMap((commit) => commit.ops);
  const kept = isFresh || known?.isOld === true ? undefined : known;
  // A session that is made here needs no question: that it was there before, the store finds out.
  if (kept === undefined) {
    if (!isFresh && ops[0]?.op === "create") return;
    needs.sessions.push(session);
  }
  const streams = new Set<number>();
  for (const op of ops) {
    if (op.op !== "open" && "stream" in op) streams.add(op.stream);
  }
  for (const stream of streams) {
    if (kept?.streams.has(stream) !== true) needs.streams.push({ session, stream });
  }
  const isEnd = ops.some(({ op }) => op === "end");
  if (isEnd && kept?.hasRunning !== true) needs.running.push(session);
}

function entryOf(row: SessionRow, loss: PossibleLoss): SessionEntry {
  return {
    id: row.id,
    version: row.version,
    state: sessionOf(row),
    responseBytes: row.response_bytes,
    incarnation: incarnationOf(row, loss),
    holding: holdingOf(row),
    inbox: { entries: row.inbox_entries, bytes: row.inbox_bytes },
    isOld: false,
    streams: new Map(),
    hasRunning: false,
    claims: new Map(),
  };
}

async function loadClaims(desk: Desk, wanted: readonly Wanted[]): Promise<Loaded["claims"]> {
  const { connections, book, settings, time } = desk;
  const keys = new Map<string, { readonly scope: string; readonly key: string }>();
  for (const one of wanted) {
    for (const asked of askedKeys(one, book.entry(one.session))) {
      keys.set(ledgerName(asked.scope, asked.key), asked);
    }
  }
  const claims = new Map<string, Claim>();
  if (keys.size === 0) return claims;
  const names = [...keys.keys()];
  const pairs = [...keys.values()];
  const rows = await connections.ask<ClaimRow & { at: number }>(
    "claims",
    pairs.map(({ scope }) => indexed(scope)),
    pairs.map(({ key }) => indexed(key)),
    time.nowMs() - settings.idempotencyTtlMs,
  );
  for (const row of rows) claims.set(names[row.at - 1] ?? "", claimOf(row));
  return claims;
}

/** Keys that must be known: those of calls that end here, and on a second try those of new calls. */
function askedKeys(
  { commits, isFresh }: Wanted,
  entry: SessionEntry | undefined,
): readonly { readonly scope: string; readonly key: string }[] {
  const asked: { scope: string; key: string }[] = [];
  const addCalls = (stream: StreamState | undefined) => {
    for (const { claim } of stream?.calls ?? []) {
      if (claim !== undefined && !entry?.claims.has(ledgerName(claim.scope, claim.key))) {
        asked.push(claim);
      }
    }
  };
  for (const op of commits.flatMap(({ ops }) => ops)) {
    if (op.op === "open" && isFresh) {
      for (const { claim } of op.calls) if (claim !== undefined) asked.push(claim);
    } else if (op.op === "cancel" || (op.op === "append" && op.kind === "response")) {
      addCalls(entry?.streams.get(op.stream));
    } else if (op.op === "end") {
      for (const stream of entry?.streams.values() ?? []) addCalls(stream);
    }
  }
  return asked;
}
