/**
 * The in-flight ledger of one session: which call the upstream knows under which number.
 *
 * Ids and progress tokens of clients are not unique (real clients send 1 every time), so the
 * upstream gets numbers of ours, and the client's own text is put back on the way out [C X-02].
 */
import type { Call } from "@holdfast/log";

export interface InFlightCall extends Call {
  /** The id, and the progress token, that the upstream sees. */
  readonly number: number;
  /** The client's progress token as JSON text, when it asked for progress. */
  readonly tokenJson: string | undefined;
  readonly stream: number;
  /** Index among the calls of its stream. */
  readonly index: number;
}

export class InFlightCalls {
  /** In the order of their start: a Map keeps it. */
  readonly #byNumber = new Map<number, InFlightCall>();
  #lastNumber = 0;

  get size(): number {
    return this.#byNumber.size;
  }

  /** A number that no request of this session's upstreams had before. */
  nextNumber(): number {
    this.#lastNumber++;
    return this.#lastNumber;
  }

  add(call: InFlightCall): void {
    this.#byNumber.set(call.number, call);
  }

  get(number: unknown): InFlightCall | undefined {
    return typeof number === "number" ? this.#byNumber.get(number) : undefined;
  }

  /** The call is over: nothing is routed to it any more. */
  remove(call: InFlightCall): void {
    this.#byNumber.delete(call.number);
  }

  /** [C E-01] where an upstream's message goes that names no request. */
  oldest(): InFlightCall | undefined {
    return this.#byNumber.values().next().value;
  }

  /** [C X-02] a cancellation that fits several calls means the newest. */
  newestWithId(idJson: string): InFlightCall | undefined {
    const key = idKey(idJson);
    return [...this.#byNumber.values()].findLast((call) => idKey(call.id) === key);
  }

  /** The number was handed out once, and its call is over: a late message about it. */
  isPast(number: unknown): boolean {
    return typeof number === "number" && number <= this.#lastNumber && !this.#byNumber.has(number);
  }

  all(): readonly InFlightCall[] {
    return [...this.#byNumber.values()];
  }
}

/**
 * What two spellings of one JSON-RPC id have in common. Number 1 and string "1" differ; a number
 * beyond 2^53 is compared by its digits, since parsing would round it.
 */
function idKey(idJson: string): string {
  const value: unknown = JSON.parse(idJson);
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? String(value) : idJson;
  }
  return JSON.stringify(value);
}
