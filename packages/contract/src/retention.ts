/**
 * Retention arithmetic: how long events must be kept so that every client that may come back finds
 * what it missed. Nothing is kept or evicted here.
 */

/** How long events are kept, per session [C W-01]. */
export interface Retention {
  /** Floor in time, milliseconds. */
  readonly windowMs: number;
  /** Cap on retained notifications and server-to-client requests. */
  readonly maxEvents: number;
  /** Cap on retained message text, bytes of UTF-8. */
  readonly maxBytes: number;
}

/** How a client comes back: exponential delays, bounded in attempts and in time [C K-04]. */
export interface ReconnectPolicy {
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  /** Each maximal delay is the one before times this; at least 1. */
  readonly factor: number;
  /** A whole number, at most a million. */
  readonly maxAttempts: number;
  readonly maxElapsedMs: number;
}

export const defaultReconnectPolicy: ReconnectPolicy = {
  initialDelayMs: 500,
  maxDelayMs: 30_000,
  factor: 2,
  maxAttempts: 10,
  maxElapsedMs: 120_000,
};

/** [C W-02] the last attempt may take this long to connect. */
export const connectTimeoutMs = 10_000;

export interface RetentionQuestion {
  readonly windowMs: number;
  readonly idleTtlMs: number;
  /** The longest time that any client may need to be back, declared by the operator. */
  readonly clientReconnectMs: number;
}

export type RetentionVerdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly problem: "window-within-reconnect" | "window-below-idle-ttl";
      /** Both numbers and the fix, for the operator. */
      readonly message: string;
    };

/**
 * The longest time between a disconnect and the last attempt to come back [C W-02].
 *
 * @returns milliseconds: min(sum of the maximal delays, `maxElapsedMs`) + {@link connectTimeoutMs}
 * @throws TypeError for a policy that has no worst case
 */
export function worstCaseReconnectMs(policy: ReconnectPolicy): number {
  requirePolicy(policy);
  let delayMs = policy.initialDelayMs;
  let waitedMs = 0;
  for (let i = 0; i < policy.maxAttempts && waitedMs < policy.maxElapsedMs; i += 1) {
    delayMs = Math.min(delayMs, policy.maxDelayMs);
    waitedMs += delayMs;
    delayMs *= policy.factor;
  }
  return Math.min(waitedMs, policy.maxElapsedMs) + connectTimeoutMs;
}

/**
 * Hold a retention window against the clients that it is for [C W-02].
 *
 * @throws TypeError for a duration that is not a finite number of at least 0
 */
export function checkRetention(question: RetentionQuestion): RetentionVerdict {
  const { windowMs, idleTtlMs, clientReconnectMs } = question;
  requireDurations({ windowMs, idleTtlMs, clientReconnectMs });
  const owedMs = idleTtlMs - clientReconnectMs;
  const [window, idle, reconnect] = [windowMs, idleTtlMs, clientReconnectMs].map(formatDuration);
  if (windowMs <= clientReconnectMs) {
    const enough = formatDuration(Math.max(clientReconnectMs * 2, owedMs, 1000));
    return {
      ok: false,
      problem: "window-within-reconnect",
      message:
        `Events are kept for ${window} (--window), but a client may take up to ${reconnect} to ` +
        `come back (--client-reconnect): it would find them gone. Use --window ${enough} or more.`,
    };
  }
  if (windowMs < owedMs) {
    return {
      ok: false,
      problem: "window-below-idle-ttl",
      message:
        `Events are kept for ${window} (--window), but a session lives for ${idle} without a ` +
        `client (--idle-ttl) of which a reconnect may take ${reconnect} (--client-reconnect): it ` +
        `would outlive its events. Use --window ${formatDuration(owedMs)} or more, or --idle-ttl ` +
        `${formatDuration(windowMs + clientReconnectMs)} or less.`,
    };
  }
  return { ok: true };
}

/** Write a duration as options take it: `500ms`, `90s`, `30m`, `24h`. */
export function formatDuration(durationMs: number): string {
  for (const [unit, unitMs] of durationUnits) {
    if (durationMs >= unitMs && durationMs % unitMs === 0) return `${durationMs / unitMs}${unit}`;
  }
  return `${durationMs}ms`;
}

const durationUnits: readonly (readonly [string, number])[] = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

// Bounds the loop above also for a policy whose delays are zero.
const attemptsMax = 1_000_000;

function requirePolicy(policy: ReconnectPolicy): void {
  const { initialDelayMs, maxDelayMs, maxElapsedMs, factor, maxAttempts } = policy;
  requireDurations({ initialDelayMs, maxDelayMs, maxElapsedMs });
  if (!Number.isFinite(factor) || factor < 1) {
    throw new TypeError(`factor must be a finite number of at least 1, not ${factor}.`);
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 0 || maxAttempts > attemptsMax) {
    throw new TypeError(
      `maxAttempts must be a whole number to ${attemptsMax}, not ${maxAttempts}.`,
    );
  }
}

// A NaN would pass every comparison as "not broken".
function requireDurations(durations: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(durations)) {
    if (Number.isFinite(value) && value >= 0) continue;
    throw new TypeError(`${name} must be a finite number of at least 0, not ${value}.`);
  }
}
