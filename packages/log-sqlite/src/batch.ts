/** Many commits, one transaction: carried out in their order, or none of them. */
import assert from "node:assert/strict";
import {
  type Commit,
  type CommitOutcome,
  createEvictionTally,
  type Eviction,
  type Plan,
  planCommit,
  type Refused,
  type SessionId,
} from "@holdfast/log";
import type { SessionEntry } from "./book.ts";
import { enforceCaps } from "./caps.ts";
import { ledgerBytes, readClaim } from "./claims.ts";
import type { Desk } from "./desk.ts";
import { unfinishedStreams } from "./unfinished.ts";
import { writePlan } from "./write.ts";

export interface Request {
  readonly session: SessionId;
  readonly commit: Commit;
}

export interface Done {
  readonly outcome: CommitOutcome;
  readonly evictions: readonly Eviction[];
  /** Of which streams there is news. */
  readonly news: ReadonlySet<number>;
  readonly isEnd: boolean;
  /** A live session more of this principal, or one less. */
  readonly live: { readonly principal: string; readonly by: number } | undefined;
}

/** A commit that made no sense; it alone is refused. */
export interface Senseless {
  readonly error: assert.AssertionError;
}

export type Answer = Done | Senseless;

/**
 * @returns one answer for each request, in their order, true once the transaction is committed
 * @throws what SQLite throws; nothing has changed then, and sessions of `requests` are forgotten
 */
export function runBatch(desk: Desk, requests: readonly Request[]): readonly Answer[] {
  const { run, book, attempts, census } = desk;
  const answers: Answer[] = [];
  try {
    run.begin.run();
    // Of this batch alone; remembered for good when it is committed.
    const fresh = new Set<string>();
    for (const request of requests) {
      const { session, commit } = request;
      const first =
        attempts.recall(session, commit.id) ??
        (fresh.has(commit.id ?? "") ? earlier(requests, answers, request) : undefined);
      answers.push(first === undefined ? answerOne(desk, request) : withoutEffect(first));
      if (commit.id !== undefined) fresh.add(commit.id);
    }
    run.commit.run();
  } catch (error) {
    for (const { session } of requests) book.drop(session);
    throw error;
  }
  requests.forEach(({ session, commit }, i) => {
    const answer = answers[i];
    if (answer === undefined || !isMemorable(answer)) return;
    attempts.remember(session, commit.id, answer.outcome);
    if (answer.live !== undefined) census.add(answer.live.principal, answer.live.by);
  });
  return answers;
}

/** The outcome of the same attempt, when it stands in this batch already. */
function earlier(
  requests: readonly Request[],
  answers: readonly Answer[],
  { session, commit }: Request,
): CommitOutcome | undefined {
  const first = answers.find((answer, i) => {
    const other = requests[i];
    return other?.session === session && other.commit.id === commit.id && isMemorable(answer);
  });
  return first !== undefined && isMemorable(first) ? first.outcome : undefined;
}

/** Nothing is remembered of a session that is not there, nor of a mistake. */
function isMemorable(answer: Answer): answer is Done {
  return !("error" in answer) && answer.outcome.kind !== "absent";
}

function withoutEffect(outcome: CommitOutcome): Done {
  return { outcome, evictions: [], news: new Set(), isEnd: false, live: undefined };
}

function answerOne(desk: Desk, request: Request): Answer {
  const known = desk.book.session(request.session);
  let plan: Plan | Refused;
  try {
    plan = planOne(desk, request, known);
  } catch (error) {
    if (error instanceof assert.AssertionError) return { error };
    throw error;
  }
  if (plan.kind !== "planned") return withoutEffect(plan);
  return carryOut(desk, request.session, known, plan);
}

function planOne(
  { run, book, incarnation, settings, time }: Desk,
  { session: id, commit }: Request,
  known: SessionEntry | undefined,
): Plan | Refused {
  const expiredAtMs = time.nowMs() - settings.idempotencyTtlMs;
  return planCommit(
    {
      id,
      session: known?.state,
      stream: (stream) => known && book.stream(known, stream)?.state,
      running: () => (known === undefined ? [] : unfinishedStreams(run, book, known)),
      claim: (scope, key) => readClaim(run, scope, key, expiredAtMs),
      isLedgerFull: () => ledgerBytes(run) >= (settings.ledgerBytesMax ?? Number.POSITIVE_INFINITY),
      responseBytes: () => (known === undefined ? 0 : book.totals(known).responseBytes),
      incarnation,
      wallMs: settings.clock.wallMs(),
      bytesMax: settings.retention.maxBytes,
    },
    commit.ops,
  );
}

function carryOut(desk: Desk, id: SessionId, known: SessionEntry | undefined, plan: Plan): Done {
  const { run, book, settings, time, followers, recent } = desk;
  const entry = writePlan(desk, id, known, plan, time.stampMs());
  plan.events.forEach(({ stream: number, kind, text, bytes }, i) => {
    const stream = entry.streams.get(number);
    const place = plan.appended[i];
    if (stream === undefined || place === undefined) return;
    if (followers.isFollowed(id, number)) recent.keep(stream, { place, kind, text }, bytes);
  });
  const { appended, begun } = plan;
  const outcome: CommitOutcome = { kind: "committed", appended, begun };
  const isEnd = plan.session.ended !== undefined;
  const by = Number(known === undefined) - Number(isEnd);
  const live = by === 0 ? undefined : { principal: plan.session.principal, by };
  if (plan.events.length === 0) return { outcome, evictions: [], news: plan.news, isEnd, live };
  const tally = createEvictionTally();
  const evicted = enforceCaps(run, book, entry, settings.retention, time.nowMs(), tally);
  const news = evicted.size === 0 ? plan.news : new Set([...plan.news, ...evicted]);
  return { outcome, evictions: tally.list(), news, isEnd, live };
}
