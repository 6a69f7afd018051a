/**
 * One connection to the server after the other, each used only once it was greeted.
 *
 *     down ──connect, greet──▶ up ──closed, no answer in time, demoted──▶ down (backoff) …
 *
 * What is asked while it is down waits a little, then is refused; what was under way when it goes
 * down is refused, and may have been done. So every question ends within `waitMs` + `timeoutMs`.
 */
import { performance } from "node:perf_hooks";
import { createClient } from "redis";
import { isOfAnotherServer, storeFault, unavailable } from "./faults.ts";
import type { ScriptName } from "./scripts.ts";
import { scripts } from "./scripts.ts";

export type Reply = string | number | null | readonly Reply[];

/** Ask the server; for who greets it, and for everybody afterwards. */
export interface Line {
  command(...args: readonly string[]): Promise<Reply>;
  script(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<Reply>;
}

export interface ConnectionSettings {
  readonly url: string;
  /** As people are shown it. */
  readonly location: string;
  /** Longest time for one answer, and for a connection to be made. */
  readonly timeoutMs: number;
  /** How long a question waits for a connection. */
  readonly waitMs: number;
  /** Asked on each new connection before anything else; throws to refuse it. */
  greet(line: Line): Promise<void>;
}

type Client = ReturnType<typeof clientOf>;

type State =
  | { readonly kind: "up"; readonly client: Client }
  | { readonly kind: "down"; readonly fault: unknown }
  | { readonly kind: "closed" };

const backoffMs = [20, 50, 100, 200, 500, 1_000] as const;

export class Connection implements Line {
  readonly #settings: ConnectionSettings;
  /** When each question was asked whose answer is awaited, oldest first; answers come in order. */
  readonly #asked: number[] = [];
  #state: State = { kind: "closed" };
  #change = Promise.withResolvers<void>();
  #watch: NodeJS.Timeout | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** @throws what the first attempt fails with; nothing goes on then */
  async open(): Promise<void> {
    const { timeoutMs } = this.#settings;
    const client = await this.#connect();
    this.#enter({ kind: "up", client });
    this.#watch = setInterval(() => this.#checkOldest(), Math.ceil(timeoutMs / 8));
    this.#watch.unref();
  }

  async command(...args: readonly string[]): Promise<Reply> {
    return this.#ask((client) => client.sendCommand([...args]));
  }

  async script(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return this.#ask((client) => evaluate(client, name, keys, args));
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    const state = this.#state;
    this.#enter({ kind: "closed" });
    if (state.kind === "up") state.client.destroy();
  }

  async #ask(send: (client: Client) => Promise<Reply>): Promise<Reply> {
    const state = this.#state.kind === "down" ? await this.#waitForChange() : this.#state;
    if (state.kind !== "up") {
      const fault = state.kind === "down" ? state.fault : "the log is closed";
      throw storeFault(fault, this.#settings.location);
    }
    this.#asked.push(performance.now());
    try {
      return await send(state.client);
    } catch (error) {
      if (isOfAnotherServer(error)) this.#drop(state.client, error);
      throw storeFault(error, this.#settings.location);
    } finally {
      this.#asked.shift();
    }
  }

  async #waitForChange(): Promise<State> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#settings.waitMs);
    await Promise.race([promise, this.#change.promise]);
    clearTimeout(timer);
    return this.#state;
  }

  #enter(state: State): void {
    this.#state = state;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** A server that is stopped, or a network that swallows everything, closes nothing. */
  #checkOldest(): void {
    const oldest = this.#asked[0];
    if (this.#state.kind !== "up" || oldest === undefined) return;
    const { timeoutMs } = this.#settings;
    if (performance.now() - oldest < timeoutMs) return;
    this.#drop(this.#state.client, new Error(`no answer within ${timeoutMs} ms`));
  }

  #drop(client: Client, fault: unknown): void {
    if (this.#state.kind !== "up" || this.#state.client !== client) return;
    this.#enter({ kind: "down", fault });
    client.destroy();
    void this.#reconnect(0);
  }

  async #reconnect(attempt: number): Promise<void> {
    const base = backoffMs[Math.min(attempt, backoffMs.length - 1)] ?? 0;
    await new Promise((resolve) => setTimeout(resolve, base * (0.5 + Math.random() / 2)).unref());
    if (this.#state.kind !== "down") return;
    try {
      const client = await this.#connect();
      if (this.#state.kind === "down") this.#enter({ kind: "up", client });
      else client.destroy();
    } catch (fault) {
      if (this.#state.kind !== "down") return;
      this.#state = { kind: "down", fault };
      void this.#reconnect(attempt + 1);
    }
  }

  async #connect(): Promise<Client> {
    const { url, location, timeoutMs, greet } = this.#settings;
    const client = clientOf(url, timeoutMs);
    client.on("error", (error: unknown) => this.#drop(client, error));
    client.on("end", () => this.#drop(client, new Error("the connection was closed")));
    const timer = setTimeout(() => client.destroy(), timeoutMs);
    try {
      await client.connect();
      for (const { text } of Object.values(scripts)) {
        await client.sendCommand(["SCRIPT", "LOAD", text]);
      }
      await greet({
        command: (...args) => client.sendCommand([...args]),
        script: (name, keys, args) => evaluate(client, name, keys, args),
      });
      return client;
    } catch (error) {
      if (client.isOpen) client.destroy();
      throw timer.hasRef()
        ? storeFault(error, location)
        : unavailable(location, "no answer", error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function clientOf(url: string, timeoutMs: number) {
  return createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    socket: { connectTimeout: timeoutMs, reconnectStrategy: false },
  });
}

async function evaluate(
  client: Client,
  name: ScriptName,
  keys: readonly string[],
  args: readonly string[],
): Promise<Reply> {
  const { sha1, text } = scripts[name];
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await client.sendCommand(["EVALSHA", sha1, ...rest]);
  } catch (error) {
    // The server forgot its scripts without a restart; nothing was done.
    const isForgotten = error instanceof Error && error.message.startsWith("NOSCRIPT");
    if (isForgotten) return client.sendCommand(["EVAL", text, ...rest]);
    throw error;
  }
}
