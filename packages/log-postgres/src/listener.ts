/**
 * The connection on which nodes hear of each other, and tell. It comes back by itself; what was told
 * meanwhile is lost, and found by the polling of wakes.ts.
 */
import { createHash } from "node:crypto";
import { Client, type ClientConfig } from "pg";
import { type Message, writeMessages } from "./messages.ts";

/** Between attempts to connect: from the first to the longest, doubling, milliseconds. */
const pauseMs = { first: 100, longest: 5_000 } as const;

/** Messages that wait to be told; beyond that the newest are dropped. */
const waitingMax = 10_000;

export interface ListenerSettings {
  readonly config: ClientConfig;
  readonly schema: string;
  /** Who tells. */
  readonly node: () => string;
  /** The text of the call of tell.sql. */
  readonly tell: string;
  readonly onMessage: (text: string) => void;
  /** It listens again: what was told meanwhile is not known. */
  readonly onConnect: () => void;
}

export class Listener {
  readonly #settings: ListenerSettings;
  readonly #channel: string;
  #waiting: Message[] = [];
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs: number = pauseMs.first;
  #isTelling = false;
  #isClosed = false;

  constructor(settings: ListenerSettings) {
    this.#settings = settings;
    const hash = createHash("sha256").update(settings.schema).digest("hex").slice(0, 16);
    this.#channel = `holdfast_${hash}`;
  }

  /** @returns when the first attempt is over, whatever came of it */
  async connect(): Promise<void> {
    const client = new Client(this.#settings.config);
    this.#client = client;
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload }) => this.#settings.onMessage(payload ?? ""));
    try {
      await client.connect();
      await client.query(`listen ${this.#channel}`);
      this.#pauseMs = pauseMs.first;
      this.#settings.onConnect();
      void this.#tellAll();
    } catch {
      this.#lost(client);
    }
  }

  /** What is told in one turn of the event loop, and while other things are told, goes together. */
  tell(message: Message): void {
    if (this.#isClosed || this.#waiting.length >= waitingMax) return;
    this.#waiting.push(message);
    if (this.#waiting.length === 1) queueMicrotask(() => void this.#tellAll());
  }

  /** @returns when what was told is on its way */
  async close(): Promise<void> {
    await this.#tellAll();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  async #tellAll(): Promise<void> {
    const client = this.#client;
    if (client === undefined || this.#isTelling) return;
    this.#isTelling = true;
    try {
      while (this.#waiting.length > 0 && client === this.#client) {
        const messages = this.#waiting;
        this.#waiting = [];
        // Tried once: who does not hear finds out by itself.
        for (const text of writeMessages({ from: this.#settings.node(), messages })) {
          const values = [this.#channel, text];
          await client.query({ name: "tell", text: this.#settings.tell, values });
        }
      }
    } catch {
      this.#lost(client);
    } finally {
      this.#isTelling = false;
    }
  }

  #lost(client: Client): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#waiting = [];
    void client.end().catch(() => {});
    if (this.#isClosed) return;
    const waitMs = this.#pauseMs * (0.5 + Math.random() / 2);
    this.#pauseMs = Math.min(pauseMs.longest, this.#pauseMs * 2);
    this.#timer = setTimeout(() => void this.connect(), waitMs);
    this.#timer.unref();
  }
}
