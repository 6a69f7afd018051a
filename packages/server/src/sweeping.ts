/**
 * What goes on by itself: windows run out, sessions expire or hibernate, the log is told of use.
 * Everything in bounded steps, with pauses between.
 */
import type { EventLog, Eviction } from "@holdfast/log";
import { bounds, type RuntimeOptions } from "./options.ts";
import type { Logger } from "./runtime-context.ts";
import type { Sessions } from "./sessions.ts";

/** A step again and again, with a pause after each; a step that says so is followed at once. */
export class Repeated {
  readonly #step: () => Promise<boolean>;
  readonly #pauseMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param step - one bounded step; resolves to true when more is waiting */
  constructor(step: () => Promise<boolean>, pauseMs: number, onError: (error: unknown) => void) {
    this.#step = step;
    this.#pauseMs = pauseMs;
    this.#onError = onError;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#run(), this.#pauseMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopped && (await this.#step())) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      if (!this.#isStopped) this.#onError(error);
    }
    this.start();
  }
}

export function sweeping(
  log: EventLog,
  sessions: Sessions,
  options: RuntimeOptions,
  logger: Logger,
): readonly Repeated[] {
  const { idleTtlMs, hibernateMs, retention } = options;
  const touchLagMs = clamp(idleTtlMs / 20, 20, bounds.touchLagMaxMs);
  const complain = (error: unknown) => logger.error({ error }, "the event log could not be swept");
  const windows = async () => (await log.sweep()).isBehind;
  const touches = async () => {
    await sessions.storeTouches();
    return false;
  };
  const hibernation = async () => {
    await sessions.hibernate(hibernateMs);
    return false;
  };
  const expirePauseMs = clamp(Math.min(idleTtlMs, bounds.unusedTtlMs) / 10, 10, 5_000);
  const repeated = [
    new Repeated(windows, clamp(retention.windowMs / 20, 20, 1_000), complain),
    new Repeated(touches, touchLagMs, complain),
    new Repeated(() => sessions.expire(touchLagMs), expirePauseMs, complain),
  ];
  if (hibernateMs > 0) {
    repeated.push(new Repeated(hibernation, clamp(hibernateMs / 4, 10, 30_000), complain));
  }
  return repeated;
}

/** [C W-04] Counted always, logged at most once in a while: a chatty session has many. */
export class Breaches {
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

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
