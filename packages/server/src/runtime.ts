/**
 * The session runtime: log, upstreams and HTTP faces wired together. Its life is
 * `ready` → serving → `close`.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { checkRetention, HoldfastError, resumeCapability } from "@holdfast/contract";
import type { Clock, EventLog, Eviction } from "@holdfast/log";
import { fetchReply, fetchRequest } from "./http/fetch.ts";
import { type Endpoint, handle } from "./http/handler.ts";
import { nodeReply, nodeRequest } from "./http/node.ts";
import { bounds, defaultOptions, type RuntimeOptions } from "./options.ts";
import { type Logger, type RuntimeContext, silentLogger } from "./runtime-context.ts";
import { Sessions } from "./sessions.ts";
import type { UpstreamFactory } from "./upstream.ts";
import { HeldText } from "./viewport.ts";

export interface RuntimeParts {
  readonly log: EventLog;
  readonly upstream: UpstreamFactory;
  readonly options?: Partial<RuntimeOptions>;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

export interface SessionRuntime {
  /** The endpoint as a `node:http` request listener. */
  readonly node: (req: IncomingMessage, res: ServerResponse) => void;
  /** The endpoint in the fetch style. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Resolves when the log is open; requests wait for it by themselves.
   *
   * @throws {@link LogError} what opening the log throws
   */
  ready(): Promise<void>;
  /** Sessions that this process holds in memory. */
  sessionCount(): number;
  /** Evictions inside the window so far [C W-04]. */
  breachCount(): number;
  /**
   * Let go of viewports and upstreams and close the log. No session ends by it.
   */
  close(): Promise<void>;
}

const systemClock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/**
 * Put sessions that survive disconnects in front of upstreams.
 *
 * @throws {@link HoldfastError} `ERR_RETENTION` for a window that clients could miss [C W-02]
 */
export function createSessionRuntime(parts: RuntimeParts): SessionRuntime {
  const options = { ...defaultOptions, ...parts.options };
  const verdict = checkRetention({ ...options, windowMs: options.retention.windowMs });
  if (!verdict.ok) throw new HoldfastError("ERR_RETENTION", verdict.message);
  const { log } = parts;
  const logger = parts.logger ?? silentLogger;
  const clock = parts.clock ?? systemClock;
  const context: RuntimeContext = {
    log,
    upstream: parts.upstream,
    options,
    logger,
    clock,
    capability: resumeCapability({ ...options, durability: log.durability }),
    held: new HeldText(),
    processName: randomBytes(6).toString("hex"),
  };
  const sessions = new Sessions(context);
  const breaches = new Breaches(logger);
  const onEvicted = (eviction: Eviction) => {
    if (eviction.isBreach) breaches.add(eviction);
    sessions.onEvicted(eviction.session, eviction.stream, eviction.through);
  };
  let isDraining = false;
  const endpoint: Endpoint = {
    context,
    sessions,
    access: { hosts: options.allowedHosts, origins: options.allowedOrigins },
    isDraining: () => isDraining,
  };
  let opened: Promise<void> | undefined;
  const sweeper = new Sweeper(log, options.retention.windowMs, logger);
  const ready = () => {
    opened ??= log.open({ retention: options.retention, clock, onEvicted }).then(() => {
      sweeper.start();
      sessions.startSweeping();
    });
    return opened;
  };
  return {
    node: (req, res) => {
      ready()
        .then(() => handle(endpoint, nodeRequest(req), nodeReply(req, res)))
        .catch((error: unknown) => {
          logger.error({ error }, "a request failed");
          res.destroy();
        });
    },
    fetch: async (request) => {
      await ready();
      const reply = fetchReply(request);
      const handled = handle(endpoint, fetchRequest(request), reply);
      return Promise.race([reply.response, handled.then(() => reply.response)]);
    },
    ready,
    sessionCount: () => sessions.size,
    breachCount: () => breaches.count,
    close: async () => {
      isDraining = true;
      sessions.stopSweeping();
      sweeper.stop();
      breaches.stop();
      const all = [...sessions.all()];
      for (const session of all) session.releaseViewports(() => jittered(options.retryMs));
      await Promise.all(all.map((session) => session.suspend()));
      await opened?.catch(() => undefined);
      await log.close();
    },
  };
}

/** [C D-02] "jittered": between one and two times, so that clients do not come back as one. */
function jittered(retryMs: number): number {
  return Math.round(retryMs * (1 + Math.random()));
}

/** The log's own clockwork: windows run out in bounded steps, with pauses between. */
class Sweeper {
  readonly #log: EventLog;
  readonly #pauseMs: number;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(log: EventLog, windowMs: number, logger: Logger) {
    this.#log = log;
    this.#pauseMs = Math.min(
      Math.max(windowMs / 20, bounds.sweepPauseMinMs),
      bounds.sweepPauseMaxMs,
    );
    this.#logger = logger;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#step(), this.#pauseMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #step(): Promise<void> {
    try {
      while (!this.#isStopped && (await this.#log.sweep()).isBehind) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      if (!this.#isStopped) this.#logger.error({ error }, "the event log could not be swept");
    }
    this.start();
  }
}

/** [C W-04] Counted always, logged at most once in a while: a chatty session has many. */
class Breaches {
  readonly #logger: Logger;
  #count = 0;
  #unlogged = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get count(): number {
    return this.#count;
  }

  add(eviction: Eviction): void {
    this.#count += eviction.events;
    this.#unlogged += eviction.events;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#logger.warn(
        { events: this.#unlogged, cause: eviction.cause },
        "events were evicted inside the retention window: a cap is too small for this traffic",
      );
      this.#unlogged = 0;
    }, bounds.breachLogPauseMs);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
