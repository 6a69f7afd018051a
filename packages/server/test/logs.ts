/** Event logs of each kind that the suite runs with, with the test's gate before them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EventLog, memoryLog, memoryStore, type SharedLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import type { LogGate, LogKind } from "@holdfast/testkit/face-acceptance";

/** Where one log lives, for one runtime after another. */
export interface LogPlace {
  /** The log, for a runtime; the one before must have closed it, or be cut off. */
  take(gate?: LogGate): TakenLog;
  /** Take away what it left on disk; the log must be closed. */
  remove(): Promise<void>;
}

export interface TakenLog {
  readonly log: EventLog;
  /** As a crash would: what the runtime asks from now on, and has asked, is not answered. */
  cutOff(): Promise<void>;
}

/** One store for the logs of several nodes: each `take` is a node of its own. */
export function placeStore(): LogPlace {
  const store = memoryStore();
  return { take: (gate) => taken(memoryLog(store), gate), remove: async () => {} };
}

export async function placeLog(kind: LogKind): Promise<LogPlace> {
  if (kind === "memory") {
    const log = memoryLog();
    return { take: (gate) => taken(log, gate), remove: async () => {} };
  }
  const directory = await mkdtemp(join(tmpdir(), "holdfast-face-"));
  return {
    take: (gate) => taken(sqliteLog(join(directory, "sessions.db")), gate),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The log as it is, but that commits and reads wait where the gate holds them. */
function taken(log: EventLog, gate: LogGate = {}): TakenLog {
  const never = new Promise<never>(() => {});
  let isCut = false;
  const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (isCut) return never;
    try {
      const answer = await ask();
      return isCut ? never : answer;
    } catch (error) {
      if (isCut) return never;
      throw error;
    }
  };
  const { commit, read } = gated(log, gate, () => isCut);
  const shared = log.shared && takenShared(log.shared, asked);
  return {
    log: {
      ...(shared && { shared }),
      durability: log.durability,
      location: log.location,
      open: (settings) => log.open(settings),
      commit: (session, change) => asked(() => commit(session, change)),
      read: (session, cursor, limit) => asked(() => read(session, cursor, limit)),
      session: (session) => asked(() => log.session(session)),
      stream: (session, stream) => asked(() => log.stream(session, stream)),
      running: (session) => asked(() => log.running(session)),
      claim: (scope, key) => asked(() => log.claim(scope, key)),
      rested: (limits) => asked(() => log.rested(limits)),
      list: (after, limit) => asked(() => log.list(after, limit)),
      liveSessions: (principal) => asked(() => log.liveSessions(principal)),
      follow: (session, stream, wake) => log.follow(session, stream, wake),
      sweep: () => asked(() => log.sweep()),
      close: () => asked(() => log.close()),
    },
    cutOff: async () => {
      isCut = true;
      await log.close();
    },
  };
}

function takenShared(
  shared: SharedLog,
  asked: <T>(ask: () => Promise<T>) => Promise<T>,
): SharedLog {
  return {
    get node() {
      return shared.node;
    },
    get leaseMs() {
      return shared.leaseMs;
    },
    renew: () => asked(() => shared.renew()),
    rejoin: () => asked(() => shared.rejoin()),
    leave: () => asked(() => shared.leave()),
    nodes: () => asked(() => shared.nodes()),
    acquire: (session) => asked(() => shared.acquire(session)),
    release: (session, fence) => asked(() => shared.release(session, fence)),
    take: (session, fence, after, limit) => asked(() => shared.take(session, fence, after, limit)),
    followInbox: (wake) => shared.followInbox(wake),
    followNodes: (wake) => shared.followNodes(wake),
  };
}

function gated(
  log: EventLog,
  { beforeCommit, afterCommit, afterRead }: LogGate,
  isCut: () => boolean,
): Pick<EventLog, "commit" | "read"> {
  // Commits take effect in the order of their calls, whichever of them wait; when one fails, so do
  // those that were called before that could be known.
  let order: Promise<unknown> = Promise.resolve();
  const commit: EventLog["commit"] = (session, change) => {
    const before = order;
    const outcome = (async () => {
      await before;
      await beforeCommit?.(change.ops);
      // It stood before the log when the process crashed.
      if (isCut()) return new Promise<never>(() => {});
      const committed = await log.commit(session, change);
      await afterCommit?.(change.ops);
      return committed;
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
  const isCommitGated = beforeCommit !== undefined || afterCommit !== undefined;
  return {
    commit: isCommitGated ? commit : (session, change) => log.commit(session, change),
    read: afterRead === undefined ? (session, ...rest) => log.read(session, ...rest) : read,
  };
}
