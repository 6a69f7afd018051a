/** Several nodes on one place, and the short words in which the chapters of shared logs are written. */
import { type FakeClock, fakeClock, onDispose } from "@holdfast/testkit";
import type {
  CommitOutcome,
  EventLog,
  Op,
  ReadLimit,
  ReadOutcome,
  SessionId,
} from "../event-log.ts";
import type { InboxEntry, SharedLog } from "../shared-log.ts";
import type { LogHarness, LogPlace, SharedHarness } from "./harness.ts";
import { creation, idempotencyTtlMs, roomy } from "./scene.ts";

export const unlimited: ReadLimit = { events: 10_000, bytes: 100_000_000 };

export type NodesHarness<Place extends LogPlace = LogPlace> = LogHarness<Place> & {
  readonly shared: SharedHarness<Place>;
};

/** One node: its log, and what is asked of it most. */
export interface Node {
  readonly log: EventLog;
  readonly shared: SharedLog;
  commit(session: SessionId, fence: number, ...ops: Op[]): Promise<CommitOutcome>;
  /** Create a session, which this node owns then under fence 1. */
  create(name: string): Promise<SessionId>;
  /** Own a session that must be free, or this node's. @returns the fence */
  own(session: SessionId): Promise<number>;
  /** The entries that `take` gives. */
  take(session: SessionId, fence: number, after?: number): Promise<readonly InboxEntry[]>;
  read(session: SessionId, stream: number, position?: number): Promise<ReadOutcome>;
}

export interface Nodes<Place extends LogPlace = LogPlace> {
  readonly place: Place;
  readonly clock: FakeClock;
  readonly nodes: readonly Node[];
  /** Let the store's time pass: so many leases. */
  leases(count: number): Promise<void>;
}

/** Open so many nodes on a fresh place; they go with the test. */
export async function openNodes<Place extends LogPlace>(
  harness: NodesHarness<Place>,
  count: number,
): Promise<Nodes<Place>> {
  const place = await harness.place();
  const clock = fakeClock();
  const { leaseMs } = harness.shared;
  const nodes: Node[] = [];
  onDispose(async () => {
    for (const { log } of nodes) await log.close();
    await place.remove();
  });
  for (let i = 0; i < count; i += 1) {
    const log = place.log();
    await log.open({ retention: roomy, idempotencyTtlMs, clock, leaseMs });
    nodes.push(nodeOf(log));
  }
  const leases = (many: number) => harness.shared.pass(place, many * leaseMs, clock);
  return { place, clock, nodes, leases };
}

function nodeOf(log: EventLog): Node {
  const { shared } = log;
  if (shared === undefined) throw new Error("the log is not shared");
  const commit: Node["commit"] = (session, fence, ...ops) => log.commit(session, { fence, ops });
  return {
    ...{ log, shared, commit },
    create: async (name) => {
      const session = name as SessionId;
      const outcome = await commit(session, 0, creation(name));
      if (outcome.kind !== "committed") throw new Error(`not created: ${outcome.kind}`);
      return session;
    },
    own: async (session) => {
      const outcome = await shared.acquire(session);
      if (outcome.kind !== "owned") throw new Error(`not owned: ${outcome.kind}`);
      return outcome.fence;
    },
    take: async (session, fence, after = 0) => {
      const outcome = await shared.take(session, fence, after, unlimited);
      if (outcome.kind !== "taken") throw new Error(`not taken: ${outcome.kind}`);
      return outcome.entries;
    },
    read: async (session, stream, position = 0) => {
      const state = await log.stream(session, stream);
      const tag = (await log.session(session))?.tag ?? "";
      const incarnation = state?.runs.findLast(({ from }) => from <= position)?.incarnation ?? "";
      return log.read(session, { tag, stream, position, incarnation }, unlimited);
    },
  };
}

/** Pick the n-th node, which must be there. */
export function nth({ nodes }: Nodes<LogPlace>, n: number): Node {
  const node = nodes[n];
  if (node === undefined) throw new Error(`there is no node ${n}`);
  return node;
}

/** Texts of entries. */
export function textsOf(entries: readonly InboxEntry[]): readonly string[] {
  return entries.map(({ text }) => text);
}

export function send(text: string): Op {
  return { op: "send", text };
}
