/**
 * The connection on which nodes hear of each other, and tell. It comes back by itself; what was told
 * meanwhile is lost, and found by the polling of wakes.ts.
 */
import { createHash } from "node:crypto";
import { Client, type ClientConfig } from "pg";

/** Between attempts to connect: from the first to the longest, doubling, milliseconds. */
const pauseMs = { first: 100, longest: 5_000 } as const;

/** Messages that wait to be told; beyond that the newest are dropped. */
const waitingMax = 1_000;

export interface ListenerSettings {
  readonly config: ClientConfig;
  readonly schema: string;
  /** The text of the call of tell.sql. */
  readonly tell: string;
  readonly onMessage: (text: string) => void;
  /** It listens again: what was told meanwhile is not known. */
  readonly onConnect: () => void;
}

export class Listener {
  readonly #settings: ListenerSettings;
  readonly #channel: string;
  readonly #waiting: string[] = [];
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

  tell(texts: readonly string[]): void {
    if (this.#isClosed) return;
    this.#waiting.push(...texts.slice(0, waitingMax - this.#waiting.length));
    void this.#tellAll();
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
        // Tried once: who does not hear finds out by itself.
        const text = this.#waiting.shift();
        await client.query({
          name: "tell",
          text: this.#settings.tell,
          values: [this.#channel, text],
        });
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
    this.#waiting.length = 0;
    void client.end().catch(() => {});
    if (this.#isClosed) return;
    const waitMs = this.#pauseMs * (0.5 + Math.random() / 2);
    this.#pauseMs = Math.min(pauseMs.longest, this.#pauseMs * 2);
    this.#timer = setTimeout(() => void this.connect(), waitMs);
    this.#timer.unref();
  }
}
