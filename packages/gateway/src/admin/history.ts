/**
 * What happened in all sessions, kept for whoever looks at them: marks of the runtime in batches,
 * appended to an event log of its own and read from there, by the same code as every other stream.
 *
 * Beside the way of a call: a batch that cannot be written is dropped, and that is told. It is no
 * audit; its own file, so that neither limits nor counts of the sessions' log know of it.
 */
import { randomBytes } from "node:crypto";
import { standaloneStream } from "@holdfast/contract";
import { decodeBatch, encodeBatch, type FeedItem } from "@holdfast/dashboard/model";
import { type Clock, type EventLog, incarnationAt, type SessionId } from "@holdfast/log";
import type { Logger, Mark } from "@holdfast/server";
import { Feed } from "@holdfast/server/http";

export interface HistorySettings {
  readonly log: EventLog;
  readonly windowMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const session = "history" as SessionId;
/** How long items wait for others, milliseconds. */
const batchMs = 100;
const batchItemsMax = 1_000;
/** Items that may wait; what comes on top is dropped, and that is told. */
const waitingMax = 20_000;
const retentionMax = { maxEvents: 20_000, maxBytes: 16 * 2 ** 20 };
const sweepEveryMs = 1_000;
const readLimit = { events: 128, bytes: 256 * 1024 };
const idempotencyTtlMs = 60_000;
const feedSettings = { stream: standaloneStream, retryMs: 500, heartbeatMs: 5_000, readersMax: 64 };

export class History {
  readonly feed: Feed;
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #waiting: FeedItem[] = [];
  #isSkipping = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #sweptAtMs = 0;

  private constructor({ log, windowMs, clock, logger }: HistorySettings) {
    this.#log = log;
    this.#clock = clock;
    this.#logger = logger;
    const retention = { windowMs, ...retentionMax };
    this.feed = new Feed({ ...feedSettings, log, session, retention });
  }

  /** @throws what opening the log throws */
  static async open(settings: HistorySettings): Promise<History> {
    const { log, clock, windowMs } = settings;
    await log.open({ retention: { windowMs, ...retentionMax }, idempotencyTtlMs, clock });
    if ((await log.session(session)) === undefined) {
      const tag = randomBytes(8).toString("hex");
      const create = { op: "create", tag, principal: "", data: "" } as const;
      await log.commit(session, { fence: 0, ops: [create] });
    }
    const history = new History(settings);
    history.#add({ kind: "started", atMs: clock.wallMs() });
    await history.flush();
    return history;
  }

  /** For the runtime: quick, and it never throws. */
  readonly observe = (mark: Mark): void => {
    const atMs = this.#clock.wallMs();
    if (mark.kind !== "appended") return this.#add({ ...mark, atMs });
    const last = this.#waiting.at(-1);
    const isInRow =
      last?.kind === "appended" &&
      last.tag === mark.tag &&
      last.stream === mark.stream &&
      last.event === mark.event &&
      last.through + 1 === mark.position;
    if (!isInRow) return this.#add({ ...mark, through: mark.position, atMs });
    const bytes = last.bytes + mark.bytes;
    this.#waiting[this.#waiting.length - 1] = { ...last, through: mark.position, bytes };
  };

  /** What is kept of one session, oldest first, with every start and stop of the gateway. */
  async of(tag: string): Promise<readonly FeedItem[]> {
    await this.flush();
    const state = await this.#log.session(session);
    const found = await this.#log.stream(session, standaloneStream);
    if (state === undefined || found === undefined) return [];
    const items: FeedItem[] = [];
    for (let position = found.evictedThrough; position < found.head; ) {
      const incarnation = incarnationAt(found.runs, position) ?? "";
      const cursor = { tag: state.tag, stream: standaloneStream, position, incarnation };
      const outcome = await this.#log.read(session, cursor, readLimit);
      // Evicted meanwhile: that was older than what there is to see.
      if (outcome.kind === "gap") position = outcome.gap.oldest.position;
      else if (outcome.kind !== "events" || outcome.events.length === 0) break;
      else {
        for (const { text } of outcome.events) items.push(...itemsOf(text, tag));
        position = outcome.events.at(-1)?.place.position ?? found.head;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    return items;
  }

  /** Write what waits, now. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#waiting;
    this.#waiting = [];
    this.#writing = this.#writing.then(() => this.#write(items));
    return this.#writing;
  }

  /** Let readers go, and close; they come back with their cursors. */
  async close(): Promise<void> {
    this.#add({ kind: "stopped", atMs: this.#clock.wallMs() });
    await this.flush();
    clearTimeout(this.#timer);
    this.feed.release();
    await this.#log.close();
  }

  #add(item: FeedItem): void {
    if (this.#waiting.length >= waitingMax) {
      this.#isSkipping = true;
      return;
    }
    this.#waiting.push(item);
    this.#timer ??= setTimeout(() => void this.flush(), batchMs);
  }

  async #write(items: readonly FeedItem[]): Promise<void> {
    const { wallMs, monotonicMs } = this.#clock;
    const told: FeedItem[] = this.#isSkipping ? [{ kind: "skipped", atMs: wallMs() }] : [];
    const all = [...told, ...items];
    try {
      for (let at = 0; at < all.length; at += batchItemsMax) {
        const text = encodeBatch(all.slice(at, at + batchItemsMax));
        const append = { op: "append", kind: "notification", stream: standaloneStream } as const;
        await this.#log.commit(session, { fence: 0, ops: [{ ...append, text }] });
      }
      this.#isSkipping = false;
      if (monotonicMs() - this.#sweptAtMs < sweepEveryMs) return;
      this.#sweptAtMs = monotonicMs();
      await this.#log.sweep();
    } catch (error) {
      if (!this.#isSkipping) this.#logger.warn({ error }, "the history of sessions has a hole");
      this.#isSkipping = true;
    }
  }
}

/** Items of one session in a batch; most batches do not name it, and are not parsed. */
function itemsOf(text: string, tag: string): readonly FeedItem[] {
  if (!text.includes(tag) && !text.includes('"g":[]')) return [];
  return decodeBatch(text).filter((item) => !("tag" in item) || item.tag === tag);
}
