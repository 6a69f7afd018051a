/** Nodes, leases and inboxes in PostgreSQL; every time is the store's own. */
import { randomBytes } from "node:crypto";
import { LogError } from "@holdfast/contract";
import {
  type AcquireOutcome,
  type InboxEntry,
  leaseMsDefault,
  type NodeId,
  type ReadLimit,
  type SessionId,
  type SharedLog,
  type TakeOutcome,
} from "@holdfast/log";
import type { Desk } from "./desk.ts";
import type { Wakes } from "./wakes.ts";

/** How often a session may be asked for while the log goes through another term. */
const termsMax = 10;

interface AcquireRow {
  readonly what: "owned" | "held" | "absent";
  readonly owner: NodeId;
  readonly fence: number;
  readonly is_taken_over: boolean;
}

interface TakeRow {
  readonly what: "taken" | "fenced" | "absent" | "entry";
  readonly number: number;
  readonly sender: NodeId;
  readonly stream: number | null;
  readonly text: Buffer;
}

export class PostgresShared implements SharedLog {
  readonly #desk: () => Desk;
  readonly #wakes: Wakes;
  #node: NodeId = newNode();
  #leaseMs: number = leaseMsDefault;

  /** @param desk - throws `ERR_LOG_CLOSED` while the log is not open */
  constructor(desk: () => Desk, wakes: Wakes) {
    this.#desk = desk;
    this.#wakes = wakes;
  }

  get node(): NodeId {
    return this.#node;
  }

  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** Be a node; once, at the opening of the log. */
  async join(desk: Desk, leaseMs: number): Promise<void> {
    this.#leaseMs = leaseMs;
    const node = newNode();
    await desk.connections.ask("join", node, leaseMs);
    this.#node = node;
  }

  async renew(): Promise<boolean> {
    const rows = await this.#desk().connections.ask("renew", this.#node, this.#leaseMs);
    return rows.length > 0;
  }

  async rejoin(): Promise<void> {
    await this.leave();
    await this.join(this.#desk(), this.#leaseMs);
  }

  async leave(): Promise<void> {
    await this.part(this.#desk());
  }

  /** As {@link leave}; at the end of the log. */
  async part({ connections }: Desk): Promise<void> {
    const rows = await connections.ask("leave", this.#node);
    if (rows.length > 0) this.#wakes.onLeft();
  }

  async nodes(): Promise<readonly NodeId[]> {
    const rows = await this.#desk().connections.ask<{ id: NodeId }>("nodes");
    return rows.map(({ id }) => id);
  }

  async acquire(session: SessionId): Promise<AcquireOutcome> {
    const { connections, book, term, meet, randomIncarnation } = this.#desk();
    const node = this.#node;
    for (let terms = 0; terms < termsMax; terms += 1) {
      const values = [session, node, randomIncarnation(), term().generation];
      const [row] = await connections.ask<AcquireRow>("acquire-call", ...values);
      if (row === undefined) {
        await meet();
        continue;
      }
      const { what: kind, owner, fence, is_taken_over: isTakenOver } = row;
      if (kind === "absent") return { kind };
      if (kind === "held") return { kind, owner };
      if (isTakenOver) book.drop(session);
      return { kind, fence, isTakenOver };
    }
    throw new LogError("ERR_LOG_UNAVAILABLE", "The store is another one at each look.");
  }

  async release(session: SessionId, fence: number): Promise<void> {
    const { connections, book } = this.#desk();
    const [row] = await connections.ask<{ id: number }>("release", session, fence);
    book.drop(session);
    if (row !== undefined) this.#wakes.onReleased(session, row.id);
  }

  async take(
    session: SessionId,
    fence: number,
    after: number,
    limit: ReadLimit,
  ): Promise<TakeOutcome> {
    const { connections } = this.#desk();
    const values = [session, fence, after, limit.events, limit.bytes];
    const [first, ...rows] = await connections.ask<TakeRow>("take-call", ...values);
    if (first?.what === "fenced") return { kind: "fenced" };
    if (first?.what !== "taken") return { kind: "absent" };
    return { kind: "taken", entries: rows.map(entryOf) };
  }

  followInbox(wake: (session: SessionId) => void): () => void {
    return this.#wakes.followInbox(wake);
  }

  followNodes(wake: () => void): () => void {
    return this.#wakes.followNodes(wake);
  }
}

function newNode(): NodeId {
  return randomBytes(8).toString("hex") as NodeId;
}

function entryOf({ number, sender: from, stream, text }: TakeRow): InboxEntry {
  return { number, text: text.toString(), from, stream: stream ?? undefined };
}
