/**
 * Runs one stream: does what its machine says, and tells the machine what happened. All waiting on
 * sockets and timers is here; what things mean is the machine's, what they are for is the owner's.
 */
import type { ClosedBy } from "@holdfast/contract";
import { exchange, type HttpAnswer, type HttpOutcome, type HttpRequest } from "../http/exchange.ts";
import type { NetworkFault } from "../http/network-fault.ts";
import { judgePost } from "../http/post-verdict.ts";
import { bareRefusal } from "../http/refusal.ts";
import { showViewport, type ViewportSink } from "../http/viewport.ts";
import type { Settings } from "../options.ts";
import type {
  Moment,
  StreamAction,
  StreamEvent,
  StreamRules,
  StreamState,
} from "./stream-machine.ts";
import { stepStream } from "./stream-table.ts";

/** What a stream is for. */
export interface StreamOwner extends Omit<ViewportSink, "retry"> {
  readonly isOneWay: boolean;
  /** False while there is no session that a POST could go into. */
  isReady(): boolean;
  /** The request names a session. */
  isInSession(): boolean;
  /** @throws what keeps the request from being sent, as an error for its caller */
  request(attempt: "post" | "get", cursor: string | null): Promise<HttpRequest>;
  /** How long headers may take; null for no limit. */
  headersMs(attempt: "post" | "get"): number | null;
  /** [C K-12] how long an open stream may be silent; null for no limit. */
  silenceMsMax(): number | null;
  /** A POST was answered by 2xx; its body comes after this. */
  accepted(answer: HttpAnswer): void;
  /** An attempt died before its headers; another may follow. */
  died(fault: NetworkFault): void;
  /** The body of a JSON answer. */
  answer(text: string): void;
  /** An open response broke, and the stream goes on. */
  cut(by: string): void;
  /** It is open again. */
  resumed(afterMs: number): void;
  /** A viewport was opened by a cursor: what was seen may come again. */
  replaying(): void;
  /** [C K-15] an event, or the answer, is larger than is taken. */
  tooLarge(): void;
  /** What the machine decides beyond sockets and timers. */
  act(action: OwnerAction, last: HttpOutcome | undefined): void;
  over(): void;
}

export type OwnerAction = Extract<
  StreamAction,
  { readonly do: "endUnknown" | "fail" | "gap" | "report" | "tell" }
>;

export class StreamRunner {
  readonly #settings: Settings;
  readonly #rules: StreamRules;
  readonly #owner: StreamOwner;
  #state: StreamState;
  readonly #events: StreamEvent[] = [];
  #isStepping = false;
  #exchange: AbortController | undefined;
  #cancelTimer = () => {};
  /** Since when it is cut; unset while it is open, and before it ever was. */
  #cutAtMs: number | undefined;
  /** What the newest attempt came to, for errors that quote it. */
  #last: HttpOutcome | undefined;

  constructor(settings: Settings, rules: StreamRules, owner: StreamOwner, state: StreamState) {
    this.#settings = settings;
    this.#rules = rules;
    this.#owner = owner;
    this.#state = state;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** One event at a time: what an action causes comes after that action's siblings. */
  dispatch(event: StreamEvent): void {
    this.#events.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        this.#step(next);
      }
    } finally {
      this.#isStepping = false;
    }
  }

  moment(): Moment {
    const { clock, random } = this.#settings.internals;
    return { nowMs: clock.monotonicMs(), fraction: random() };
  }

  #step(event: StreamEvent): void {
    const wasOver = this.#state.at === "over";
    const { state, actions } = stepStream(this.#state, event, this.#rules);
    this.#state = state;
    for (const action of actions) this.#perform(action);
    if (!wasOver && state.at === "over") this.#owner.over();
  }

  #perform(action: StreamAction): void {
    switch (action.do) {
      case "post":
        if (this.#owner.isReady()) void this.#post(this.#begin());
        else this.dispatch({ type: "queue", attempt: "post" });
        return;
      case "get":
        void this.#get(this.#begin(), action.cursor);
        return;
      case "wait":
        this.#cancelTimer();
        this.#cancelTimer = this.#settings.internals.setTimer(
          () => this.dispatch({ type: "due" }),
          action.delayMs,
        );
        return;
      case "drop":
        this.#drop();
        return;
      default:
        this.#owner.act(action, this.#last);
    }
  }

  #begin(): AbortSignal {
    this.#drop();
    this.#exchange = new AbortController();
    return this.#exchange.signal;
  }

  #drop(): void {
    this.#cancelTimer();
    this.#exchange?.abort();
    this.#exchange = undefined;
  }

  async #post(signal: AbortSignal): Promise<void> {
    const outcome = await this.#send("post", null, signal);
    if (signal.aborted) return;
    if (outcome.kind === "stream") {
      this.#owner.accepted(outcome);
      return this.#show(outcome.body, signal);
    }
    if (outcome.kind === "json" || outcome.kind === "tooLarge") {
      this.#owner.accepted(outcome);
      if (outcome.kind === "json") this.#owner.answer(outcome.text);
      else this.#owner.tooLarge();
      return this.dispatch({ type: "answered" });
    }
    if (outcome.kind === "accepted") this.#owner.accepted(outcome);
    const { isOneWay } = this.#owner;
    const facts = { isInSession: this.#owner.isInSession(), isOneWay, moment: this.moment() };
    this.dispatch(judgePost(outcome, facts));
  }

  async #get(signal: AbortSignal, cursor: string | null): Promise<void> {
    const outcome = await this.#send("get", cursor, signal);
    if (signal.aborted) return;
    if (outcome.kind === "stream") {
      if (cursor !== null) this.#owner.replaying();
      return this.#show(outcome.body, signal);
    }
    const close = this.#closeOf(outcome);
    this.dispatch({ type: "closed", close, moment: this.moment() });
  }

  async #send(
    attempt: "post" | "get",
    cursor: string | null,
    signal: AbortSignal,
  ): Promise<HttpOutcome> {
    let outcome: HttpOutcome;
    try {
      const request = await this.#owner.request(attempt, cursor);
      const headersMs = this.#owner.headersMs(attempt);
      outcome = await exchange(this.#settings, request, { signal, headersMs });
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      outcome = { kind: "withheld", error: failure, isProof: true };
    }
    if (signal.aborted) return outcome;
    this.#last = outcome;
    if (outcome.kind === "died") this.#owner.died(outcome.fault);
    return outcome;
  }

  /** Read the open response to its end. */
  async #show(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): Promise<void> {
    this.dispatch({ type: "opened", moment: this.moment() });
    this.#tellResumed();
    const owner = this.#owner;
    const end = await showViewport(
      body,
      {
        message: (data, id) => owner.message(data, id),
        moved: (cursor) => owner.moved(cursor),
        retry: (ms) => this.dispatch({ type: "retry", ms }),
        isLoss: (id) => owner.isLoss(id),
        room: () => owner.room(),
      },
      { internals: this.#settings.internals, signal, silenceMsMax: owner.silenceMsMax() },
    );
    if (signal.aborted) return;
    if (end.kind === "tooLarge") owner.tooLarge();
    const close: ClosedBy<string> = end.kind === "tooLarge" ? { kind: "reset" } : end;
    this.#cutAtMs = this.#settings.internals.clock.monotonicMs();
    this.dispatch({ type: "closed", close, moment: this.moment() });
    this.#tellCut(close.kind);
  }

  #tellCut(by: string): void {
    if (this.#state.at === "over") return;
    this.#settings.telemetry.cut(by);
    this.#owner.cut(by);
  }

  #tellResumed(): void {
    if (this.#cutAtMs === undefined) return;
    const afterMs = this.#settings.internals.clock.monotonicMs() - this.#cutAtMs;
    this.#cutAtMs = undefined;
    this.#settings.telemetry.reconnected(afterMs);
    this.#owner.resumed(afterMs);
  }

  #closeOf(outcome: Exclude<HttpOutcome, { kind: "stream" }>): ClosedBy<string> {
    switch (outcome.kind) {
      case "died":
        return { kind: outcome.fault.by };
      case "withheld":
        return bareRefusal(401);
      case "refused": {
        // Without a session it can only mean that there is no such stream.
        const isNotOffered = outcome.refusal.status === 404 && !this.#owner.isInSession();
        return isNotOffered ? { ...outcome.refusal, status: 405 } : outcome.refusal;
      }
      case "accepted":
        if (outcome.status !== 200) return bareRefusal(outcome.status);
        return { kind: "notEventStream", contentType: outcome.contentType };
      case "json":
      case "tooLarge":
        return { kind: "notEventStream", contentType: "application/json" };
    }
  }
}
