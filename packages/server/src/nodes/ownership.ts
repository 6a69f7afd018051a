/**
 * What it takes to run a session that other nodes serve too: its fence, and its inbox, taken in
 * order, each entry once.
 *
 *     owning ──passOn──▶ passing on: answers and cancellations still reach what runs; the rest is
 *        │                  kept, and said again for the next owner
 *        └──fenced, lease over──▶ over
 */
import type { EventLog, InboxEntry, NodeId, Op, SharedLog } from "@holdfast/log";
import { type Incoming, readIncoming } from "../incoming.ts";
import { bounds } from "../options.ts";
import type { Session } from "../session.ts";
import { ForeignCalls, type WaitForKey } from "./foreign-calls.ts";
import { type InboxText, readInboxText, writeInboxText } from "./inbox-entry.ts";

export interface OwnershipHost {
  readonly log: EventLog;
  readonly shared: SharedLog;
  readonly fence: number;
  readonly waitForKey: WaitForKey;
  /** Another node owns the session. */
  onFenced(): void;
}

export class Ownership {
  readonly fence: number;
  readonly #host: OwnershipHost;
  readonly #session: Session;
  readonly #foreign: ForeignCalls;
  /** Number of the newest entry that was taken. */
  #taken = 0;
  #takes: Promise<unknown> = Promise.resolve();
  /** Set while passing on: what the next owner is to be told. */
  #kept: InboxText[] | undefined;
  #isOver = false;
  #isStopped = false;

  constructor(session: Session, host: OwnershipHost) {
    this.fence = host.fence;
    this.#host = host;
    this.#session = session;
    this.#foreign = new ForeignCalls(session, host.waitForKey);
  }

  get isPassingOn(): boolean {
    return this.#kept !== undefined;
  }

  /**
   * Take what waits, so that what this node does next comes after it. While the store is away it
   * waits; nothing overtakes.
   *
   * @param through - number of an entry; nothing is asked when it was taken before
   * @returns false when the session is another's by now, or over
   */
  catchUp(through = Number.POSITIVE_INFINITY): Promise<boolean> {
    const taken = this.#takes.then(() => this.#catchUp(through));
    this.#takes = taken;
    return taken;
  }

  /** The first entries, for what is to be decided before they are carried out [C X-05]. */
  async takeFirst(): Promise<readonly InboxEntry[]> {
    const entries: InboxEntry[] = [];
    for (;;) {
      const next = await this.#next();
      entries.push(...next.entries);
      if (!next.isMore) return entries;
    }
  }

  carryOut(entries: readonly InboxEntry[]): void {
    for (const entry of entries) this.#carryOut(entry);
  }

  /** A node that left may have said before it did that its calls may begin: that is taken first. */
  onNodes(isAlive: (node: NodeId) => boolean): void {
    const missing = this.#foreign.missing(isAlive);
    if (missing.length === 0) return;
    void this.catchUp().then((isOurs) => {
      if (isOurs) this.#foreign.giveUp(missing);
    });
  }

  /** [C D-02] What is new from now on is for the next owner. */
  passOn(): void {
    this.#kept ??= [];
  }

  /** Take no more; resolves when what was being taken is carried out, or kept. */
  async stopTaking(): Promise<void> {
    this.#isStopped = true;
    await this.#takes;
  }

  /** What was kept, as operations that say it again. */
  kept(): readonly Op[] {
    return (this.#kept ?? []).map((text) => ({ op: "send", text: writeInboxText(text) }));
  }

  /** This node owns the session no more. */
  close(): void {
    this.#isOver = true;
  }

  async #catchUp(through: number): Promise<boolean> {
    let retryMs: number = bounds.commitRetryMs;
    while (!this.#isOver && !this.#isStopped && this.#taken < through) {
      try {
        const { entries, isMore } = await this.#next();
        for (const entry of entries) this.#carryOut(entry);
        if (!isMore) break;
      } catch {
        // How long that may last is up to the lease: when it is in doubt, this is over.
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        retryMs = Math.min(retryMs * 2, bounds.commitRetryMaxMs);
      }
    }
    return !this.#isOver && !this.#isStopped;
  }

  async #next(): Promise<{ readonly entries: readonly InboxEntry[]; readonly isMore: boolean }> {
    const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
    const { id } = this.#session;
    const outcome = await this.#host.shared.take(id, this.fence, this.#taken, limit);
    if (outcome.kind === "fenced" && !this.#isOver) this.#host.onFenced();
    if (this.#isOver || outcome.kind !== "taken") return { entries: [], isMore: false };
    const { entries } = outcome;
    this.#taken = entries.at(-1)?.number ?? this.#taken;
    const chars = entries.reduce((sum, { text }) => sum + text.length, 0);
    // What came after the answer has a wake-up of its own. Text has at least as many bytes as this.
    const isMore = entries.length === limit.events || chars * 3 >= limit.bytes;
    return { entries, isMore: isMore && entries.length > 0 };
  }

  #carryOut(entry: InboxEntry): void {
    const text = readInboxText(entry.text);
    this.#session.touch("headers" in text ? text.headers : undefined);
    if (this.#kept !== undefined) return this.#pass(entry, text, this.#kept);
    switch (text.kind) {
      case "calls": {
        const { waitsFor, messages, startedAtMs, headers } = text;
        const [stream, from] = [text.stream ?? entry.stream, text.from ?? entry.from];
        if (stream === undefined) throw new Error("an entry has calls and no stream");
        return this.#foreign.note({ stream, from, startedAtMs, messages, waitsFor, headers });
      }
      case "go":
        return this.#foreign.begin(text.stream);
      case "drop":
        return this.#foreign.drop(text.stream);
      case "tell":
        for (const one of text.messages) this.#tell(one);
        return;
      case "listen":
        return this.#session.listen();
      case "end":
        void this.#session.end(text.reason).catch(() => undefined);
    }
  }

  #tell(text: string): void {
    const message = readText(text);
    if (message.kind === "notification") this.#session.notify(message);
    else if (message.kind === "response") this.#session.answer(message);
  }

  /** What the running calls wait for still reaches them; the rest is kept. */
  #pass(entry: InboxEntry, text: InboxText, kept: InboxText[]): void {
    switch (text.kind) {
      case "calls": {
        const stream = text.stream ?? entry.stream;
        kept.push({ ...text, ...(stream && { stream }), from: text.from ?? entry.from });
        return;
      }
      case "go":
      case "drop":
        if (this.#foreign.has(text.stream)) return this.#now(text);
        kept.push(text);
        return;
      case "tell": {
        const later = text.messages.filter((one) => !this.#isForRunning(one));
        for (const one of text.messages) if (!later.includes(one)) this.#tell(one);
        if (later.length > 0) kept.push({ ...text, messages: later });
        return;
      }
      case "end":
        return this.#now(text);
      case "listen":
        kept.push(text);
    }
  }

  #now(text: Extract<InboxText, { kind: "go" | "drop" | "end" }>): void {
    if (text.kind === "end") void this.#session.end(text.reason).catch(() => undefined);
    else if (text.kind === "go") this.#foreign.begin(text.stream);
    else this.#foreign.drop(text.stream);
  }

  #isForRunning(text: string): boolean {
    const message = readText(text);
    if (message.kind === "response") return true;
    return message.kind === "notification" && this.#session.calls.isOfCallHere(message);
  }
}

function readText(text: string): Incoming {
  const message = readIncoming(text, JSON.parse(text));
  if (message.kind === "invalid") throw new Error(`an entry holds no message: ${message.problem}`);
  return message;
}
