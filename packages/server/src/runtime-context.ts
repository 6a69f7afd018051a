/**
 * What every session of a runtime shares.
 */
import type { KeyScope, ResumeCapability } from "@holdfast/contract";
import type { Clock, EventLog, SessionId } from "@holdfast/log";
import type { HeldText } from "./held-text.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { UpstreamFactory } from "./upstream.ts";

/** The part of a pino logger that the runtime uses. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** How many responses are open, or about to be, against how many there may be [C P-02]. */
export class ViewportCount {
  readonly #max: number;
  #open = 0;
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#open;
  }

  get isFull(): boolean {
    return this.#open + this.#held >= this.#max;
  }

  add(change: 1 | -1): void {
    this.#open += change;
  }

  /** Keep a place for a response that waits for the log. @returns gives it back, once */
  hold(): () => void {
    this.#held++;
    return () => {
      this.#held--;
    };
  }
}

export interface RuntimeContext {
  readonly log: EventLog;
  readonly newSessionId: () => SessionId;
  readonly upstream: UpstreamFactory;
  readonly options: RuntimeOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Told to clients in the answer of `initialize` [C W-05]. */
  readonly capability: ResumeCapability;
  readonly keyScope: KeyScope;
  readonly held: HeldText;
  readonly viewports: ViewportCount;
  readonly telemetry: Telemetry;
}
