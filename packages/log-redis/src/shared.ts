/** This process as a node of the log: its lease, the sessions that it owns, their inboxes. */
import { randomBytes } from "node:crypto";
import type {
  AcquireOutcome,
  InboxEntry,
  NodeId,
  ReadLimit,
  SessionId,
  SharedLog,
  TakeOutcome,
} from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { sessionKeys } from "./keys.ts";
import { textsOf } from "./replies.ts";
import type { Wakes } from "./wakes.ts";

/** How often the owner can change between two looks, before the last one is named. */
const looksMax = 5;

export interface SharedHost {
  /** @throws `ERR_LOG_CLOSED` */
  desk(): Desk;
  /** A fresh incarnation. */
  fresh(): string;
  readonly wakes: Wakes;
}

export class RedisShared implements SharedLog {
  readonly #host: SharedHost;
  #node = newNode();
  #leaseMs = 0;

  constructor(host: SharedHost) {
    this.#host = host;
  }

  get node(): NodeId {
    return this.#node;
  }

  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** A new node; its lease begins. */
  async join(desk: Desk, leaseMs: number): Promise<void> {
    this.#leaseMs = leaseMs;
    this.#node = newNode();
    await this.#lease(desk, "join");
  }

  async renew(): Promise<boolean> {
    return (await this.#lease(this.#host.desk(), "renew")) === 1;
  }

  async rejoin(): Promise<void> {
    const desk = this.#host.desk();
    await this.#lease(desk, "leave");
    await this.join(desk, this.#leaseMs);
    await this.#host.wakes.renamed(this.#node);
  }

  async leave(): Promise<void> {
    await this.#lease(this.#host.desk(), "leave");
  }

  async nodes(): Promise<readonly NodeId[]> {
    const { line, keys } = this.#host.desk();
    return textsOf(await line.script("lease", [keys.nodes], ["list"])) as readonly NodeId[];
  }

  async acquire(id: SessionId): Promise<AcquireOutcome> {
    const desk = this.#host.desk();
    const { all } = sessionKeys(desk.keys.prefix, id);
    let gone = "";
    for (let look = 0; ; look += 1) {
      const { generation } = desk.attendance;
      const args = [this.#node, gone, this.#host.fresh(), `${generation}`];
      const [kind, detail = "", taken] = textsOf(await desk.line.script("acquire", all, args));
      if (kind === "absent") return { kind };
      if (kind === "owned") {
        this.#host.wakes.owns(id, true);
        return { kind, fence: Number(detail), isTakenOver: taken === "1" };
      }
      const owner = detail as NodeId;
      // [0025] A lease that is over stays over: it may be looked up apart from the session.
      if (look >= looksMax || (await this.nodes()).includes(owner)) return { kind: "held", owner };
      gone = owner;
    }
  }

  async release(id: SessionId, fence: number): Promise<void> {
    const { line, keys } = this.#host.desk();
    const { session } = sessionKeys(keys.prefix, id);
    await line.script("release", [session], [`${fence}`, `${keys.nodeChannels}all`]);
    this.#host.wakes.owns(id, false);
  }

  async take(id: SessionId, fence: number, after: number, limit: ReadLimit): Promise<TakeOutcome> {
    const { line, keys } = this.#host.desk();
    const { all } = sessionKeys(keys.prefix, id);
    const args = [`${fence}`, `${after}`, `${limit.events}`, `${limit.bytes}`];
    const [kind, ...entries] = textsOf(await line.script("take", all, args));
    if (kind === "absent" || kind === "fenced") return { kind };
    return { kind: "taken", entries: entries.map(readEntry) };
  }

  followInbox(wake: (session: SessionId) => void): () => void {
    return this.#host.wakes.followInbox(wake);
  }

  followNodes(wake: () => void): () => void {
    return this.#host.wakes.followNodes(wake);
  }

  async #lease({ line, keys }: Desk, what: "join" | "renew" | "leave"): Promise<unknown> {
    const args = [what, this.#node, `${this.#leaseMs}`, keys.leftChannel];
    return line.script("lease", [keys.nodes], args);
  }
}

/** See `lua/take.lua`. */
function readEntry(entry: string): InboxEntry {
  const [number = "", from, stream] = entry.split(" ", 3);
  const start = number.length + (from ?? "").length + (stream ?? "").length + 3;
  return {
    number: Number(number),
    text: entry.slice(start),
    from: (from ?? "") as NodeId,
    stream: stream === "-" ? undefined : Number(stream),
  };
}

function newNode(): NodeId {
  return randomBytes(8).toString("hex") as NodeId;
}
