/**
 * What memory logs keep, and several may share: each log on one store is a node of its own, as if
 * the store were a server. It lives as long as the object; nothing survives the process.
 */
import { type Attempts, createAttempts } from "./attempts.ts";
import { type Census, createCensus } from "./census.ts";
import type { Clock, SessionId } from "./event-log.ts";
import { createFollowers, type Followers } from "./followers.ts";
import { type LogTime, startLogTime } from "./log-time.ts";
import { createMemoryLedger, type MemoryLedger } from "./memory-ledger.ts";
import type { MemorySession } from "./memory-session.ts";
import type { NodeId } from "./shared-log.ts";

export interface MemoryStoreOptions {
  /** The store's own clock; by default that of the log that opens it while no other has it open. */
  readonly clock?: Clock;
}

/** A node, as long as its lease runs or has not been found over. */
export interface MemoryNode {
  readonly id: NodeId;
  /** By the store's clock. */
  leaseEndMs: number;
  /** Told of sessions whose inbox got something. */
  readonly wakes: Set<(session: SessionId) => void>;
}

/** Where a sweep goes on: with a session that it left half done, then with the others. */
export interface SweepRound {
  held: MemorySession | undefined;
  readonly others: Iterator<MemorySession>;
}

/** A place for the logs of several nodes in one process: for tests, and the model of shared logs. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options.clock);
}

export class MemoryStore {
  readonly sessions = new Map<SessionId, MemorySession>();
  readonly ledger: MemoryLedger = createMemoryLedger();
  readonly census: Census = createCensus();
  readonly attempts: Attempts = createAttempts();
  readonly followers: Followers = createFollowers();
  readonly nodes = new Map<NodeId, MemoryNode>();
  /** Who wants to know that a node left. */
  readonly nodeWakes = new Set<() => void>();
  round: SweepRound | undefined;
  readonly #ownClock: Clock | undefined;
  #clock: Clock | undefined;
  #time: LogTime | undefined;
  /** Log time that had passed when the last log was closed. */
  #baseMs = 0;
  #openLogs = 0;

  constructor(clock: Clock | undefined) {
    this.#ownClock = clock;
  }

  /** Log time: passes while any log is open. */
  get time(): LogTime {
    if (this.#time === undefined) throw new Error("no log has the store open");
    return this.#time;
  }

  get monotonicMs(): number {
    if (this.#clock === undefined) throw new Error("no log has had the store open");
    return this.#clock.monotonicMs();
  }

  onOpen(clock: Clock): void {
    if (this.#openLogs === 0) {
      this.#clock = this.#ownClock ?? clock;
      this.#time = startLogTime(this.#clock, this.#baseMs);
    }
    this.#openLogs++;
  }

  onClose(): void {
    this.#openLogs--;
    if (this.#openLogs > 0) return;
    this.#baseMs = this.time.nowMs();
    this.#time = undefined;
    this.round = undefined;
  }

  /** The node with an id while its lease runs. */
  liveNode(id: NodeId | undefined): MemoryNode | undefined {
    const node = id === undefined ? undefined : this.nodes.get(id);
    if (node === undefined || node.leaseEndMs > this.monotonicMs) return node;
    // Over for good: a lease that has run out is not renewed.
    this.nodes.delete(node.id);
    return undefined;
  }
}
