/** What a {@link FaultProxy} does to the traffic; plain values, changed while it runs. */
import type { SeededRandom } from "./seeded-random.ts";

/**
 * `rst`: both sides are reset. `fin`: both sides read an end, as after a polite close.
 * `half-close`: the client reads an end and the server notices nothing.
 */
export type CutManner = "rst" | "fin" | "half-close";

export interface FaultRules {
  /**
   * Cut when the server has sent nothing for so long while a response is owed or under way; an
   * idle connection between two requests is left alone.
   */
  readonly idleMs?: number;
  /** Cut a response so long after its request, however lively it is. */
  readonly responseMs?: number;
  /** Cut after so many bytes of each response, head included; a range is drawn anew each time. */
  readonly afterBytes?: number | { readonly min: number; readonly max: number };
  /** How these three cut. Default `rst`. */
  readonly manner?: CutManner;
  /** Every byte travels so much longer, in both directions. */
  readonly delayMs?: number;
  /** Hold the head of a response back until a byte of its body comes, as HTTP/2 proxies do. */
  readonly isHeadHeld?: boolean;
}

export interface Refusal {
  readonly status: number;
  /** Of the `Retry-After` header: seconds, or a date. */
  readonly retryAfter?: number | string;
  /** Default: a short HTML page, as load balancers send. */
  readonly body?: string;
  readonly contentType?: string;
  /** Heal after so long; without it the refusal stays until `heal()`. */
  readonly forMs?: number;
}

/** After how many bytes the next response is cut; `undefined`: it is not. */
export function cutOffset(
  { afterBytes }: FaultRules,
  random: Pick<SeededRandom, "int">,
): number | undefined {
  return typeof afterBytes === "object" ? random.int(afterBytes.min, afterBytes.max) : afterBytes;
}
