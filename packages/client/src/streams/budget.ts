/**
 * The budget of a stream: how often and how long it is tried again before it is given up [C K-04].
 * Pure; time and chance come in as numbers.
 */
import type { ReconnectPolicy } from "@holdfast/contract";

export interface Budget {
  /** Attempts since the stream last got on. */
  readonly attempts: number;
  /** When the first of them was needed, monotonic; null while none was. */
  readonly sinceMs: number | null;
}

export interface AttemptQuestion {
  readonly nowMs: number;
  /** What the server asked for, clamped already [C K-04]. */
  readonly floorMs: number;
  /** False for an end that `retry:` announced. */
  readonly usesBudget: boolean;
  /** Go at once if nothing was tried yet: the server itself has named the way on. */
  readonly isPrompt: boolean;
  /** 0 ≤ fraction < 1, for the jitter. */
  readonly fraction: number;
}

export type AttemptVerdict =
  | { readonly kind: "wait"; readonly delayMs: number; readonly budget: Budget }
  | { readonly kind: "spent"; readonly budget: Budget };

export const freshBudget: Budget = { attempts: 0, sinceMs: null };

/** [C K-04] a stream that only lived resets its budget after so long. */
export const settlingMs = 10_000;

/** Say when the next attempt is due, or that there is none [C K-04] [C K-05]. */
export function nextAttempt(
  budget: Budget,
  policy: ReconnectPolicy,
  question: AttemptQuestion,
): AttemptVerdict {
  const { nowMs, floorMs, usesBudget, isPrompt, fraction } = question;
  if (!usesBudget) {
    // Paced by the server; the jitter keeps a `retry: 0` from spinning.
    return { kind: "wait", delayMs: Math.max(floorMs, fraction * policy.initialDelayMs), budget };
  }
  const { attempts, sinceMs } = budget;
  const started = { attempts, sinceMs: sinceMs ?? nowMs };
  const leftMs = started.sinceMs + policy.maxElapsedMs - nowMs;
  if (attempts >= policy.maxAttempts || leftMs <= 0 || floorMs > leftMs) {
    return { kind: "spent", budget: started };
  }
  const isFree = isPrompt && attempts === 0;
  const jitteredMs = isFree ? 0 : fraction * delayMsMax(attempts, policy);
  const delayMs = Math.min(Math.max(floorMs, jitteredMs), leftMs);
  return { kind: "wait", delayMs, budget: { ...started, attempts: attempts + 1 } };
}

/** True once no further attempt would be granted. */
export function isSpent(budget: Budget, policy: ReconnectPolicy, nowMs: number): boolean {
  if (budget.attempts >= policy.maxAttempts) return true;
  return budget.sinceMs !== null && nowMs - budget.sinceMs >= policy.maxElapsedMs;
}

function delayMsMax(attempts: number, policy: ReconnectPolicy): number {
  return Math.min(policy.maxDelayMs, policy.initialDelayMs * policy.factor ** attempts);
}
