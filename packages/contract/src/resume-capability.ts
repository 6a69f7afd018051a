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
  readonly idempotency?: {
    readonly header: typeof idempotencyHeader;
    readonly ttlMs: number;
    /** Whose the keys are; a server that does not say is taken for "session". */
    readonly scope?: KeyScope;
  };
}

/**
 * How far a key reaches [C X-03]: every session of its principal; every session of everybody, where
 * nobody has to say who they are; or its own session alone.
 */
export type KeyScope = "principal" | "shared" | "session";

export interface ResumePromise {
  readonly retention: Retention;
  readonly idleTtlMs: number;
  readonly retryMs: number;
  readonly heartbeatMs: number;
  readonly durability: ResumeCapability["durability"];
  /** How long keys are kept, and whose they are; left out when they are not kept. */
  readonly idempotency?: { readonly ttlMs: number; readonly scope: KeyScope };
}

/** Build the advertised object, its members in the order of the clause [C W-05]. */
export function resumeCapability(promise: ResumePromise): ResumeCapability {
  const { windowMs, maxEvents, maxBytes } = promise.retention;
  const { idleTtlMs, retryMs, heartbeatMs, durability, idempotency } = promise;
  return {
    contract: 1,
    windowMs,
    maxEvents,
    maxBytes,
    idleTtlMs,
    retryMs,
    heartbeatMs,
    durability,
    ...(idempotency === undefined ? {} : { idempotency: advertised(idempotency) }),
  };
}

function advertised({ ttlMs, scope }: NonNullable<ResumePromise["idempotency"]>) {
  return { header: idempotencyHeader, ttlMs, scope } as const;
}
