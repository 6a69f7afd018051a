/**
 * A session's line to its upstream: started when it is needed, replaced when it died, fed in order.
 *
 *     absent ──send, wake──▶ starting ──setup done──▶ open ──exit──▶ absent
 *                               └──start failed, exit──▶ absent     every state ──close──▶ closed
 *
 * One that dies young again and again is started after longer and longer pauses.
 *
 * The setup runs on each fresh upstream before anything else reaches it; for the first of a session
 * there is none, since `initialize` itself is the first message.
 */
import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { Clock } from "@holdfast/log";
import { bounds } from "./options.ts";
import type {
  ForwardedHeaders,
  Upstream,
  UpstreamEnd,
  UpstreamEvents,
  UpstreamFactory,
  UpstreamSession,
} from "./upstream.ts";

interface Queued {
  readonly text: string;
  readonly headers: ForwardedHeaders | undefined;
}

export interface LinkEvents extends Omit<UpstreamEvents, "onExit"> {
  /** Bring a fresh upstream to where the session is; a rejection gives it up. */
  setUp(upstream: Upstream): Promise<void>;
  /** The upstream is gone, or could not be had; what it was doing is over. */
  onLost(reason: string, outcome: OutcomeUnknownReason): void;
}

type State =
  | { readonly kind: "absent" }
  | { readonly kind: "starting" }
  | { readonly kind: "open"; readonly upstream: Upstream }
  | { readonly kind: "closed" };

export class UpstreamLink {
  readonly #factory: UpstreamFactory;
  readonly #session: () => UpstreamSession;
  readonly #events: LinkEvents;
  readonly #clock: Clock;
  #state: State = { kind: "absent" };
  /** The upstream that runs, from its start on; the generation tells a late event of an old one. */
  #current: Upstream | undefined;
  #generation = 0;
  #queue: Queued[] = [];
  #queuedChars = 0;
  /** The upstream that is being fed. */
  #pumped: Upstream | undefined;

  /** Upstreams in a row that died young. */
  #youngDeaths = 0;
  #startedAtMs = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(
    factory: UpstreamFactory,
    session: () => UpstreamSession,
    clock: Clock,
    events: LinkEvents,
  ) {
    this.#factory = factory;
    this.#session = session;
    this.#clock = clock;
    this.#events = events;
  }

  /** The upstream does not keep up: what can be refused should be. */
  get isFull(): boolean {
    return this.#queuedChars > bounds.upstreamQueueCharsMax;
  }

  /** Hand a message over, in order; starts an upstream when none runs. */
  send(text: string, headers?: ForwardedHeaders): void {
    if (this.#state.kind === "closed") return;
    this.#queue.push({ text, headers });
    this.#queuedChars += text.length;
    if (this.#state.kind === "absent") this.wake();
    else if (this.#state.kind === "open") void this.#pump(this.#state.upstream);
  }

  /** Start an upstream if none runs. */
  wake(): void {
    if (this.#state.kind !== "absent") return;
    this.#state = { kind: "starting" };
    if (this.#youngDeaths === 0) {
      void this.#start();
      return;
    }
    const pauseMs = bounds.restartPauseMs * 2 ** (this.#youngDeaths - 1);
    const pausedMs = Math.min(pauseMs, bounds.restartPauseMaxMs);
    this.#pause = setTimeout(() => void this.#start(), pausedMs);
  }

  /** End the upstream, for good. */
  async close(end: UpstreamEnd): Promise<void> {
    const upstream = this.#current;
    if (end === "over" && this.#state.kind === "absent") this.#factory.discard?.(this.#session());
    this.#state = { kind: "closed" };
    clearTimeout(this.#pause);
    this.#drop();
    await upstream?.close(end);
  }

  async #start(): Promise<void> {
    this.#generation++;
    this.#startedAtMs = this.#clock.monotonicMs();
    const generation = this.#generation;
    const isCurrent = () => generation === this.#generation && this.#state.kind !== "closed";
    try {
      const upstream = await this.#factory.start(this.#session(), {
        onMessage: (text, related, kept) =>
          isCurrent() ? this.#events.onMessage(text, related, kept) : undefined,
        onUnknown: (number, reason) => {
          if (isCurrent()) this.#events.onUnknown(number, reason);
        },
        onLetGo: (related) => {
          if (isCurrent()) this.#events.onLetGo(related);
        },
        onOversized: (message) => {
          if (isCurrent()) this.#events.onOversized(message);
        },
        onExit: (reason, outcome) => {
          if (isCurrent()) this.#lose(reason, outcome);
        },
      });
      if (!isCurrent()) {
        await upstream.close("rest");
        return;
      }
      this.#current = upstream;
      await this.#events.setUp(upstream);
      if (!isCurrent()) return;
      this.#state = { kind: "open", upstream };
      await this.#pump(upstream);
    } catch (error) {
      if (isCurrent()) this.#lose(error instanceof Error ? error.message : String(error));
    }
  }

  async #pump(upstream: Upstream): Promise<void> {
    if (this.#pumped === upstream) return;
    this.#pumped = upstream;
    const generation = this.#generation;
    try {
      for (;;) {
        const next = this.#queue.shift();
        if (next === undefined || generation !== this.#generation) break;
        this.#queuedChars -= next.text.length;
        await upstream.send(next.text, next.headers);
      }
    } catch {
      // The upstream tells its end by `onExit`, which says why; what was queued goes with it.
    } finally {
      if (this.#pumped === upstream) this.#pumped = undefined;
    }
  }

  #lose(reason: string, outcome: OutcomeUnknownReason = "upstream-exited"): void {
    const upstream = this.#current;
    const livedMs = this.#clock.monotonicMs() - this.#startedAtMs;
    this.#youngDeaths = livedMs < bounds.youngMs ? this.#youngDeaths + 1 : 0;
    this.#state = { kind: "absent" };
    this.#drop();
    void upstream?.close("rest");
    this.#events.onLost(reason, outcome);
  }

  #drop(): void {
    this.#generation++;
    this.#current = undefined;
    this.#queue = [];
    this.#queuedChars = 0;
  }
}
