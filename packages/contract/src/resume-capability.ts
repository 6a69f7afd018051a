/** What a server says of this contract in its answer to `initialize` [C W-05]. */
import type { Retention } from "./retention.ts";

/** Key in `capabilities.experimental`. */
export const resumeCapabilityKey = "dev.holdfast/resume";

/** [C X-03] the request header that makes a repeated call the same call. */
export const idempotencyHeader = "Idempotency-Key";

export interface ResumeCapability {
  readonly contract: 1;
  readonly windowMs: number;
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly idleTtlMs: number;
  readonly retryMs: number;
  /** 0: no heartbeats are sent. */
  readonly heartbeatMs: number;
  readonly durability: "power" | "process" | "memory";
  /** Left out by a server that keeps no keys. */
  readonly idempotency?: { readonly header: typeof idempotencyHeader; readonly ttlMs: number };
}

export interface ResumePromise {
  readonly retention: Retention;
  readonly idleTtlMs: number;
  readonly retryMs: number;
  readonly heartbeatMs: number;
  readonly durability: ResumeCapability["durability"];
  /** How long keys are kept; left out when they are not. */
  readonly idempotencyTtlMs?: number;
}

/** Build the advertised object, its members in the order of the clause [C W-05]. */
export function resumeCapability(promise: ResumePromise): ResumeCapability {
  const { windowMs, maxEvents, maxBytes } = promise.retention;
  const { idleTtlMs, retryMs, heartbeatMs, durability, idempotencyTtlMs: ttlMs } = promise;
  return {
    contract: 1,
    windowMs,
    maxEvents,
    maxBytes,
    idleTtlMs,
    retryMs,
    heartbeatMs,
    durability,
    ...(ttlMs === undefined ? {} : { idempotency: { header: idempotencyHeader, ttlMs } }),
  };
}
