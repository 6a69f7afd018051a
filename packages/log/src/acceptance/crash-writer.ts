/**
 * The process that is killed: it commits without end and says what was acknowledged.
 *
 * The n-th commit appends the pair `n a`, `n b` to stream 1, and every third one opens and answers
 * a stream of its own as well. On stdout: `ready`, then `acknowledged n` for each.
 */
import { setTimeout } from "node:timers/promises";
import type { Clock, EventLog, Op, SessionId } from "../event-log.ts";
import { fencesOf } from "./fences.ts";

export const crashSession = "crash" as SessionId;
export const crashTag = "c4a54c4a54c4a54c";

/** Commits that are on their way at any time. */
const inFlight = 20;

const clock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/** Never returns: run it in a process of its own, and kill that. */
export async function writeUntilKilled(log: EventLog): Promise<never> {
  const retention = { windowMs: 3_600_000, maxEvents: 1_000_000, maxBytes: 1_000_000_000 };
  // Of a shared log: what the writer owned is soon free when it was killed.
  await log.open({ retention, clock, idempotencyTtlMs: 3_600_000, leaseMs: 200 });
  const fences = fencesOf(log, () => setTimeout(20));
  const commit = async (ops: readonly Op[]) =>
    log.commit(crashSession, { fence: await fences.of(crashSession), ops });
  if ((await log.session(crashSession)) === undefined) {
    await commit([{ op: "create", tag: crashTag, principal: "", data: "" }, open(1)]);
  }
  let next = ((await log.stream(crashSession, 1))?.head ?? 0) / 2 + 1;
  process.stdout.write("ready\n");
  const write = async (): Promise<void> => {
    for (;;) {
      const n = next;
      next += 1;
      await commit(pair(n));
      process.stdout.write(`acknowledged ${n}\n`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, write));
  throw new Error("the writer came to an end");
}

/** The texts of stream 1, up to the n-th commit. */
export function pairsThrough(n: number): string[] {
  return Array.from({ length: n }, (_, i) => [`${i + 1} a`, `${i + 1} b`]).flat();
}

/** The stream that the n-th commit opens and answers. */
export function streamOfPair(n: number): number | undefined {
  return n % 3 === 0 ? n + 1 : undefined;
}

function pair(n: number): Op[] {
  const note = (text: string): Op => ({ op: "append", stream: 1, kind: "notification", text });
  const stream = streamOfPair(n);
  const answered: Op[] =
    stream === undefined
      ? []
      : [open(stream), { op: "append", stream, kind: "response", call: 0, text: `result ${n}` }];
  return [note(`${n} a`), ...answered, note(`${n} b`)];
}

function open(stream: number): Op {
  return { op: "open", stream, calls: [{ id: "1", method: "tools/call", startedAtMs: 0 }] };
}
