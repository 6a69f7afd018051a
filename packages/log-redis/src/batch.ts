/** What one batch of commits carries, and what the store answers to it. Pure but for its tokens. */
import { hash, randomBytes } from "node:crypto";
import type { Commit, Eviction, SessionId } from "@holdfast/log";
import type { Reply } from "./connection.ts";
import { keyName, type Wish } from "./ledger.ts";
import { groupsOf, listOf, textOf, textsOf } from "./replies.ts";

/** What one batch carries; what a session remembers of attempts is never less. */
const batchMax = 64;
const batchBytesMax = 16 * 2 ** 20;

/** As many as one batch carries. Two that claim one key are kept apart: the second waits. */
export function nextBatch<Waiting extends { readonly commit: Commit }>(
  waiting: Waiting[],
): readonly Waiting[] {
  const names = new Set<string>();
  let bytes = 0;
  let count = 0;
  for (const { commit } of waiting) {
    if (count >= batchMax) break;
    for (const op of commit.ops) {
      if (op.op === "append" || op.op === "send") bytes += op.text.length;
    }
    if (count > 0 && bytes > batchBytesMax) break;
    const claimed = claimsOf(commit).map(({ claim }) => keyName(claim));
    if (count > 0 && claimed.some((name) => names.has(name))) break;
    for (const name of claimed) names.add(name);
    count += 1;
  }
  return waiting.splice(0, count);
}

function claimsOf({ ops }: Commit) {
  return ops.flatMap((op) => {
    if (op.op !== "open") return [];
    return op.calls.flatMap((call, index) =>
      call.claim === undefined ? [] : [{ call, index, claim: call.claim }],
    );
  });
}

/** @param voids - how often the commit's keys were found void: their tokens are not used again */
export function wishesOf(session: SessionId, commit: Commit, voids: number): readonly Wish[] {
  // Repeated after a lost answer, the same attempt knows its own claims.
  const seed = commit.id ?? randomBytes(9).toString("base64url");
  return claimsOf(commit).map((one) => {
    // A key that is claimed twice in one commit is a mistake, and found to be one.
    const name = JSON.stringify([session, seed, keyName(one.claim), voids]);
    const token = hash("sha256", name, "base64url").slice(0, 22);
    return { ...one, session, token };
  });
}

export interface BatchReply {
  /** Empty for a session that is not there. */
  readonly tag: string;
  readonly news: number;
  readonly isUsed: boolean;
  readonly principal: string;
  readonly revision: number;
  readonly outcomes: readonly string[];
  readonly changed: readonly number[];
  readonly settled: readonly { readonly token: string; readonly text: string }[];
  readonly evictions: readonly Eviction[];
  readonly isOver: boolean;
}

/** See `lua/commit.lua`. */
export function readBatchReply(session: SessionId, reply: Reply): BatchReply {
  const [tag, news, isUsed, principal, revision, outcomes, changed, settled, evicted, isOver] =
    listOf(reply);
  return {
    tag: textOf(tag),
    news: Number(news),
    isUsed: isUsed === "1",
    principal: textOf(principal),
    revision: Number(revision),
    outcomes: textsOf(outcomes),
    changed: listOf(changed).map(Number),
    settled: [...groupsOf(textsOf(settled), 2)].map(([token = "", text = ""]) => ({ token, text })),
    evictions: [...groupsOf(textsOf(evicted), 7)].map((one) => {
      const [stream, through, events, bytes, ageMs] = one.map(Number);
      return {
        ...{ session, stream: stream ?? 0, through: through ?? 0, events: events ?? 0 },
        ...{ bytes: bytes ?? 0, ageMs: ageMs ?? 0 },
        cause: one[5] === "count" ? "count" : "bytes",
        isBreach: one[6] === "1",
      };
    }),
    isOver: isOver === "1",
  };
}
