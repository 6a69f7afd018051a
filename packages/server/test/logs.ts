/** Fresh event logs of each kind that the suite runs with, with the test's gate before them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EventLog, memoryLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import type { LogGate, LogKind } from "@holdfast/testkit/face-acceptance";

export interface FreshLog {
  readonly log: EventLog;
  /** Take away what it left on disk; the log must be closed. */
  remove(): Promise<void>;
}

export async function openLog(kind: LogKind, gate: LogGate = {}): Promise<FreshLog> {
  if (kind === "memory") return { log: gated(memoryLog(), gate), remove: async () => {} };
  const directory = await mkdtemp(join(tmpdir(), "holdfast-face-"));
  return {
    log: gated(sqliteLog(join(directory, "sessions.db")), gate),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The log as it is, but that commits and reads wait where the gate holds them. */
function gated(log: EventLog, { beforeCommit, afterRead }: LogGate): EventLog {
  if (beforeCommit === undefined && afterRead === undefined) return log;
  // Commits take effect in the order of their calls, whichever of them wait; when one fails, so do
  // those that were called before that could be known.
  let order: Promise<unknown> = Promise.resolve();
  const commit: EventLog["commit"] = (session, commit) => {
    const before = order;
    const outcome = (async () => {
      await before;
      await beforeCommit?.(commit.ops);
      return log.commit(session, commit);
    })();
    order = outcome;
    outcome.catch(() => {
      if (order === outcome) order = Promise.resolve();
    });
    return outcome;
  };
  const read: EventLog["read"] = async (session, cursor, limit) => {
    const outcome = await log.read(session, cursor, limit);
    await afterRead?.();
    return outcome;
  };
  return {
    durability: log.durability,
    location: log.location,
    open: (settings) => log.open(settings),
    ...(beforeCommit === undefined ? { commit: log.commit.bind(log) } : { commit }),
    ...(afterRead === undefined ? { read: log.read.bind(log) } : { read }),
    session: (session) => log.session(session),
    stream: (session, stream) => log.stream(session, stream),
    running: (session) => log.running(session),
    claim: (scope, key) => log.claim(scope, key),
    rested: (limits) => log.rested(limits),
    liveSessions: (principal) => log.liveSessions(principal),
    follow: (session, stream, wake) => log.follow(session, stream, wake),
    sweep: () => log.sweep(),
    close: () => log.close(),
  };
}
