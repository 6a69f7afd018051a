/**
 * What every session of a runtime shares.
 */
import type { ResumeCapability } from "@holdfast/contract";
import type { Clock, EventLog } from "@holdfast/log";
import type { RuntimeOptions } from "./options.ts";
import type { UpstreamFactory } from "./upstream.ts";
import type { HeldText } from "./viewport.ts";

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

export interface RuntimeContext {
  readonly log: EventLog;
  readonly upstream: UpstreamFactory;
  readonly options: RuntimeOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Told to clients in the answer of `initialize` [C W-05]. */
  readonly capability: ResumeCapability;
  readonly held: HeldText;
  /** Random, of this process alone: begins the ids of server-to-client requests. */
  readonly processName: string;
}
