/**
 * The in-flight ledger of one session: which call the upstream knows under which number, and who
 * else waits for it.
 *
 * Ids and progress tokens of clients are not unique (real clients send 1 every time), so the
 * upstream gets numbers of ours, and the client's own text is put back on the way out [C X-02].
 */
import type { Call, KeyClaim } from "@holdfast/log";
import type { AppendOp, CallPlace, ResponseOp } from "./answers.ts";
import type { IncomingRequest } from "./incoming.ts";
import type { KeptCall, UpstreamProgress } from "./session-data.ts";
import type { CallTrace } from "./telemetry/call-trace.ts";

/** A caller that repeated an idempotency key while its call runs [C X-03]. */
export interface AttachedCaller {
  readonly call: CallPlace;
  readonly tokenJson: string | undefined;
  /** Append to the caller's own stream, in its own session. */
  append(op: AppendOp): void;
  /** The call is over: `answer` makes the caller's response. */
  settle(answer: (call: CallPlace) => ResponseOp): void;
}

export interface InFlightCall extends CallPlace {
  /** The id, and the progress token, that the upstream sees. */
  readonly number: number;
  /** The client's progress token as JSON text, when it asked for progress. */
  readonly tokenJson: string | undefined;
  /** Who else waits for this call. */
  readonly attached: Set<AttachedCaller>;
  /** Told when the call is over; `isLogged` resolves when its outcome is in the log. */
  onOver: ((isLogged: Promise<unknown>) => void) | undefined;
  /** Set: it does not run itself, but waits for another; gives that up. */
  waiting: Waiting | undefined;
  /** Its span, where somebody records spans. */
  trace: CallTrace | undefined;
}

export interface Waiting {
  /** The call that runs, when it belongs to the same session. */
  readonly sibling: InFlightCall | undefined;
  leave(): void;
}

/** A request as the log keeps it. */
export function recordOf(
  { idJson, method, name }: IncomingRequest,
  startedAtMs: number,
  claim?: KeyClaim,
): Call {
  return {
    id: idJson,
    method,
    ...(name === undefined ? {} : { name }),
    startedAtMs,
    ...(claim === undefined ? {} : { claim }),
  };
}

export class InFlightCalls {
  /** In the order of their start: a Map keeps it. */
  readonly #byNumber = new Map<number, InFlightCall>();
  #lastNumber = 0;

  get size(): number {
    return this.#byNumber.size;
  }

  /** Streams that these calls have. */
  get streams(): number {
    return new Set(this.all().map((call) => call.stream)).size;
  }

  /** A number that no request of this session's upstreams had before. */
  nextNumber(): number {
    this.#lastNumber++;
    return this.#lastNumber;
  }

  /** A call of the client begins; its stream is in the log. */
  start(
    request: IncomingRequest,
    startedAtMs: number,
    stream: number,
    index: number,
  ): InFlightCall {
    const place = { ...recordOf(request, startedAtMs), stream, index };
    return this.#add(place, this.nextNumber(), request.tokenJson);
  }

  /** A call of an earlier process goes on. */
  resume(place: CallPlace, { number, tokenJson }: KeptCall): InFlightCall {
    return this.#add(place, number, tokenJson);
  }

  /** No number up to here is used again. */
  skipTo(lastNumber: number): void {
    this.#lastNumber = Math.max(this.#lastNumber, lastNumber);
  }

  /** What a later process needs to go on with the calls that the upstream has. */
  progress(): Omit<UpstreamProgress, "kept"> {
    const calls = this.all()
      .filter(({ waiting, method }) => waiting === undefined && method !== "initialize")
      .map(({ number, stream, index, tokenJson }) => ({
        ...{ number, stream, index },
        ...(tokenJson === undefined ? {} : { tokenJson }),
      }));
    return { lastNumber: this.#lastNumber, calls };
  }

  #add(place: CallPlace, number: number, tokenJson: string | undefined): InFlightCall {
    const call: InFlightCall = {
      ...place,
      number,
      tokenJson,
      attached: new Set(),
      onOver: undefined,
      waiting: undefined,
      trace: undefined,
    };
    this.#byNumber.set(number, call);
    return call;
  }

  /** The call at a place, if it runs. */
  at(stream: number, index: number): InFlightCall | undefined {
    return this.all().find((call) => call.stream === stream && call.index === index);
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
    for (const call of this.#byNumber.values()) if (call.waiting === undefined) return call;
    return undefined;
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

  /** Calls whose response will be on this stream. */
  eachOn(stream: number, visit: (call: InFlightCall) => void): void {
    for (const call of this.#byNumber.values()) if (call.stream === stream) visit(call);
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
