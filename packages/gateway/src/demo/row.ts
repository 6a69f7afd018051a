/** A row of the demo's table: what one exhibit did on one stack, and whether that was right. Pure. */
import type { DeedKind } from "./ledger.ts";

/**
 * `stock`: the SDK's client and its own server. `holdfast`: that client, and the same tools behind
 * `holdfast serve`. `client`: the same server, and the SDK's client over our transport.
 */
export const stacks = ["stock", "holdfast", "client"] as const;

/** `alone`: our transport, and the SDK's own server; not in the table of the demo. */
export type Stack = (typeof stacks)[number] | "alone";

/** One call of the agent loop; its time runs from the open session, or from a connect that failed. */
export type Attempt =
  | { readonly kind: "result"; readonly tookMs: number }
  | {
      readonly kind: "outcome-unknown" | "error";
      readonly message: string;
      readonly tookMs: number;
    };

/** What was observed, from both ends. */
export interface Observation {
  /** What the tools did, from their ledger. */
  readonly deeds: readonly { readonly kind: DeedKind; readonly mark: string }[];
  /** Marks that the caller received, in their order: entries, receipts. */
  readonly received: readonly string[];
  /** What the caller was told that it had lost; `null`: of a number that is not known. */
  readonly gaps: readonly (number | null)[];
  readonly attempts: readonly Attempt[];
  readonly cuts: number;
  readonly refusals: number;
  readonly kills: number;
}

export interface Row {
  readonly incident: 1 | 2;
  readonly exhibit: string;
  readonly stack: Stack;
  /** Charges that were made; `null` where nothing charges. */
  readonly effects: number | null;
  /** Entries, or receipts of charges: how many there were, and how many never came. */
  readonly sent: number;
  readonly lost: number;
  /** Lost events that the caller was told of: by a gap, or a receipt by an unknown outcome. */
  readonly lostTold: number;
  /** Events that came more than once. */
  readonly doubled: number;
  readonly attempts: readonly Attempt[];
  /** In all attempts together. */
  readonly tookMs: number;
  /** Connections that the balancer reset, and those that it answered 503. */
  readonly cuts: number;
  readonly refusals: number;
  /** How often the server was killed. */
  readonly kills: number;
  /**
   * One effect, a result, and no event lost without a word or doubled. A server that was killed
   * cannot know what became of its call: to say so, in a typed error, is right as well.
   */
  readonly isRight: boolean;
}

export function rowOf(
  { incident, exhibit, stack }: Pick<Row, "incident" | "exhibit" | "stack">,
  { deeds, received, gaps, attempts, cuts, refusals, kills }: Observation,
): Row {
  const charges = deeds.filter(({ kind }) => kind === "charge").length;
  const effects = incident === 1 ? charges : null;
  const arrived = new Set(received);
  const sent = deeds.length;
  const lost = deeds.filter(({ mark }) => !arrived.has(mark)).length;
  const doubled = received.length - arrived.size;
  const unknowns = attempts.filter(({ kind }) => kind === "outcome-unknown").length;
  const receiptsTold = incident === 1 ? unknowns : 0;
  // A gap of unknown size covers whatever else is lost; a number has to be the number.
  const gapsTold = gaps.includes(null)
    ? Math.max(0, lost - receiptsTold)
    : gaps.reduce<number>((sum, gap) => sum + (gap ?? 0), 0);
  const lostTold = gapsTold + receiptsTold;
  const tookMs = attempts.reduce((sum, attempt) => sum + attempt.tookMs, 0);
  const ending = attempts.at(-1)?.kind;
  const isRight =
    (effects === null || effects === 1) &&
    (ending === "result" || (ending === "outcome-unknown" && kills > 0)) &&
    lost === lostTold &&
    doubled === 0;
  const counts = { effects, sent, lost, lostTold, doubled };
  const faults = { cuts, refusals, kills };
  return { incident, exhibit, stack, ...counts, attempts, tookMs, ...faults, isRight };
}
