/** Nodes, leases and inboxes of memory logs on one store. */
import { randomBytes } from "node:crypto";
import type { ReadLimit, SessionId } from "./event-log.ts";
import { addFollower } from "./followers.ts";
import type { MemorySession } from "./memory-session.ts";
import type { MemoryNode, MemoryStore } from "./memory-store.ts";
import type { PlannedEntry } from "./plan.ts";
import {
  type AcquireOutcome,
  type Holding,
  leaseMsDefault,
  type NodeId,
  type SharedLog,
  type TakeOutcome,
} from "./shared-log.ts";

/** What the log gives: throws `ERR_LOG_CLOSED` while it is not open. */
export interface SharedHost {
  /** A fresh incarnation. */
  fresh(): string;
}

export class MemoryShared implements SharedLog {
  readonly #store: MemoryStore;
  readonly #host: SharedHost;
  readonly #wakes = new Set<(session: SessionId) => void>();
  #node: MemoryNode;
  #leaseMs: number = leaseMsDefault;

  constructor(store: MemoryStore, host: SharedHost) {
    this.#store = store;
    this.#host = host;
    this.#node = newNode(this.#wakes, 0);
  }

  get node(): NodeId {
    return this.#node.id;
  }

  get leaseMs(): number {
    return this.#leaseMs;
  }

  join(leaseMs: number): void {
    this.#leaseMs = leaseMs;
    this.#node = newNode(this.#wakes, this.#store.monotonicMs + leaseMs);
    this.#store.nodes.set(this.#node.id, this.#node);
  }

  async renew(): Promise<boolean> {
    this.#host.fresh();
    const node = this.#store.liveNode(this.#node.id);
    if (node === undefined) return false;
    node.leaseEndMs = this.#store.monotonicMs + this.#leaseMs;
    return true;
  }

  async rejoin(): Promise<void> {
    await this.leave();
    this.join(this.#leaseMs);
  }

  async leave(): Promise<void> {
    this.#host.fresh();
    if (!this.#store.nodes.delete(this.#node.id)) return;
    queueMicrotask(() => {
      for (const wake of [...this.#store.nodeWakes]) wake();
    });
  }

  async nodes(): Promise<readonly NodeId[]> {
    this.#host.fresh();
    return [...this.#store.nodes.keys()].filter((id) => this.#store.liveNode(id) !== undefined);
  }

  async acquire(id: SessionId): Promise<AcquireOutcome> {
    const incarnation = this.#host.fresh();
    const session = liveSession(this.#store, id);
    if (session === undefined) return { kind: "absent" };
    const owner = this.#store.liveNode(session.owner);
    if (owner !== undefined && owner.id !== this.#node.id) return { kind: "held", owner: owner.id };
    const isTakenOver = session.owner !== this.#node.id;
    if (isTakenOver) {
      session.owner = this.#node.id;
      session.fence += 1;
      session.incarnation = incarnation;
      drop(session, session.takenThrough);
    }
    return { kind: "owned", fence: session.fence, isTakenOver };
  }

  async release(id: SessionId, fence: number): Promise<void> {
    this.#host.fresh();
    const session = this.#store.sessions.get(id);
    if (session?.fence !== fence || session.owner === undefined) return;
    session.owner = undefined;
    queueMicrotask(() => wakeOwner(this.#store, session));
  }

  async take(id: SessionId, fence: number, after: number, limit: ReadLimit): Promise<TakeOutcome> {
    this.#host.fresh();
    const session = liveSession(this.#store, id);
    if (session === undefined) return { kind: "absent" };
    if (session.fence !== fence) return { kind: "fenced" };
    drop(session, after);
    const taken = [];
    let bytes = 0;
    for (const entry of session.inbox) {
      bytes += Buffer.byteLength(entry.text);
      if (taken.length >= limit.events || (taken.length > 0 && bytes > limit.bytes)) break;
      taken.push(entry);
    }
    session.takenThrough = Math.max(session.takenThrough, taken.at(-1)?.number ?? 0);
    return { kind: "taken", entries: taken };
  }

  followInbox(wake: (session: SessionId) => void): () => void {
    return addFollower(this.#wakes, wake);
  }

  followNodes(wake: () => void): () => void {
    return addFollower(this.#store.nodeWakes, wake);
  }
}

function newNode(wakes: MemoryNode["wakes"], leaseEndMs: number): MemoryNode {
  return { id: randomBytes(8).toString("hex") as NodeId, leaseEndMs, wakes };
}

/** Put a commit's entries into the session's inbox. */
export function putEntries(
  session: MemorySession,
  sent: readonly PlannedEntry[],
  from: NodeId,
): void {
  for (const { text, stream } of sent) {
    session.inboxHead += 1;
    session.inbox.push({ number: session.inboxHead, text, from, stream });
    session.inboxBytes += Buffer.byteLength(text);
  }
}

/** Tell the owner that the inbox has something; without an owner, everyone. */
export function wakeOwner(store: MemoryStore, session: MemorySession): void {
  const ids = session.owner === undefined ? [...store.nodes.keys()] : [session.owner];
  for (const id of ids) {
    for (const wake of [...(store.liveNode(id)?.wakes ?? [])]) wake(session.state.session);
  }
}

export function holdingOf(session: MemorySession): Holding {
  let calls = 0;
  for (const number of session.running) {
    const stream = session.streams.get(number);
    calls += stream?.state.calls.filter(({ state }) => state === "running").length ?? 0;
  }
  const { owner, fence, inboxHead: inbox, running } = session;
  return { owner, fence, inbox, calls, streams: running.size };
}

function liveSession(store: MemoryStore, id: SessionId): MemorySession | undefined {
  const session = store.sessions.get(id);
  return session?.state.ended === undefined ? session : undefined;
}

/** Let entries go. */
function drop(session: MemorySession, through: number): void {
  for (let first = session.inbox[0]; first !== undefined; first = session.inbox[0]) {
    if (first.number > through) return;
    session.inbox.shift();
    session.inboxBytes -= Buffer.byteLength(first.text);
  }
}
