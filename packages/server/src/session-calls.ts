/**
 * The calls of one session, from the stream that is opened for them to their outcome.
 *
 *     open ──▶ in the log ──deliver──▶ upstream ──settle──▶ response in the log
 *                   └──join──▶ waits for the call with its key ──settle──▶ the same response
 *
 * Each ends exactly once: answered, cancelled, or with an unknown outcome [C X-05].
 */
import {
  type EventPlace,
  frameEvent,
  locate,
  type OutcomeUnknownReason,
  outcomeUnknownMessage,
  splice,
} from "@holdfast/contract";
import type { CommitOutcome, KeyClaim, Op, StreamState } from "@holdfast/log";
import { type AppendOp, type CallPlace, type ResponseOp, unknownOutcome } from "./answers.ts";
import { type InFlightCall, InFlightCalls, recordOf } from "./calls.ts";
import { CommitFailed, type CommitQueue } from "./commit-queue.ts";
import type { IncomingNotification, IncomingRequest } from "./incoming.ts";
import { sortRunning } from "./restoring.ts";
import type { UpstreamProgress } from "./session-data.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import type { UpstreamDesk } from "./upstream-desk.ts";

/** Calls that have a stream, and wait to be handed to the upstream. */
export interface OpenedCalls {
  readonly kind: "opened";
  /** The place before the stream's first event. */
  readonly begin: EventPlace;
  readonly calls: readonly OpenedCall[];
  /** In a shared log: the newest entry of the inbox; what it says was said before. */
  readonly inbox: number;
}

export interface OpenedCall {
  readonly call: InFlightCall;
  readonly request: IncomingRequest;
}

export type OpenOutcome =
  | OpenedCalls
  /** Another node runs the session: nothing was opened [C N-02]. */
  | { readonly kind: "moved" }
  | Extract<CommitOutcome, { readonly kind: "full" | "absent" | "claimed" }>;

export interface CallsHost {
  readonly commits: CommitQueue;
  /** Other nodes open streams too: the store numbers them. */
  readonly isShared: boolean;
  desk(): UpstreamDesk;
  isOver(): boolean;
  /** Another node runs the session, or is about to. */
  isMoved(): boolean;
  wallMs(): number;
  append(op: AppendOp): Promise<CommitOutcome>;
  readonly tag: string;
  readonly telemetry: Telemetry;
  /** A request is on its way to the upstream. */
  onDelivered(request: IncomingRequest): void;
  /** A call is over. */
  onOver(): void;
}

type OpenOp = Op & { readonly op: "open" };

/** The log did not take calls: they did not run, and will not. */
export class CallsNotOpened extends Error {
  /**
   * Resolves when the log has no such calls, or has them as cancelled, with the number of their
   * stream in the log; undefined when they never were there.
   */
  readonly undone: Promise<number | undefined>;

  constructor(failure: CommitFailed) {
    super(failure.message, { cause: failure.cause });
    this.undone = failure.undone.then((outcome) => outcome?.begun.at(-1)?.stream);
  }
}

export class SessionCalls {
  readonly inFlight = new InFlightCalls();
  readonly #host: CallsHost;
  #nextStream: number;
  /** Calls and streams whose opening waits for the log. */
  #heldCalls = 0;
  #heldStreams = 0;
  #onOver: (() => void)[] = [];
  /** Calls that are over, and of whose outcome the log has nothing yet. */
  readonly #unstored = new Set<CallPlace>();

  /** @param nextStream - number of the next stream that may be opened */
  constructor(host: CallsHost, nextStream: number) {
    this.#host = host;
    this.#nextStream = nextStream;
  }

  /** Calls that run, wait, or are about to be opened [C P-02]. */
  get count(): number {
    return this.inFlight.size + this.#heldCalls;
  }

  get streams(): number {
    return this.inFlight.streams + this.#heldStreams;
  }

  /** Keep places for calls on one stream. @returns gives them back, once */
  hold(calls: number): () => void {
    this.#heldCalls += calls;
    this.#heldStreams++;
    return () => {
      this.#heldCalls -= calls;
      this.#heldStreams--;
      for (const listener of this.#onOver.splice(0)) listener();
    };
  }

  /**
   * Open a stream for calls: in the log before anything else happens with them.
   *
   * @param extra - the session's creation, for `initialize`; the claim of an idempotency key
   * @throws what the log throws: the calls did not run. {@link CallsNotOpened} when that leaves the
   * log to be put in order
   */
  async open(
    requests: readonly IncomingRequest[],
    extra: { readonly creation?: readonly Op[]; readonly claim?: KeyClaim } = {},
  ): Promise<OpenOutcome> {
    if (this.#host.isMoved()) return { kind: "moved" };
    const startedAtMs = this.#host.wallMs();
    const recorded = requests.map((request) => recordOf(request, startedAtMs, extra.claim));
    const open: OpenOp = { op: "open", stream: this.#newStream(), calls: recorded };
    const outcome = await this.#commitOpening(open, extra.creation);
    if (outcome.kind === "full" || outcome.kind === "claimed") return outcome;
    if (outcome.kind === "fenced") return { kind: "moved" };
    const begin = outcome.kind === "committed" ? outcome.begun.at(-1) : undefined;
    if (begin === undefined || this.#host.isOver()) return { kind: "absent" };
    const { telemetry, tag } = this.#host;
    telemetry.callsOpened(tag, begin.stream, requests);
    const calls = this.take(requests, begin.stream, startedAtMs);
    const inbox = (outcome.kind === "committed" && outcome.holding?.inbox) || 0;
    return { kind: "opened", begin, calls, inbox };
  }

  /** Calls whose stream is in the log: from now on they can be cancelled, and delivered. */
  take(
    requests: readonly IncomingRequest[],
    stream: number,
    startedAtMs: number,
  ): readonly OpenedCall[] {
    const { telemetry, tag } = this.#host;
    return requests.map((request, index) => {
      const call = this.inFlight.start(request, startedAtMs, stream, index);
      call.trace = telemetry.traceCall(tag, request);
      return { call, request };
    });
  }

  #newStream(): number | "next" {
    if (this.#host.isShared) return "next";
    this.#nextStream++;
    return this.#nextStream - 1;
  }

  #commitOpening(open: OpenOp, creation: readonly Op[] | undefined): Promise<CommitOutcome> {
    const { commits } = this.#host;
    // A session that nobody was told of expires by itself [C S-03].
    if (creation !== undefined) return commits.tryOnce([...creation, open]);
    const undo = (begin: EventPlace | undefined) =>
      open.calls.map((_, call): Op => ({ op: "cancel", stream: begin?.stream ?? 0, call }));
    const tried = commits.tryOrUndo([open], ({ begun }) => undo(begun.at(-1)));
    return tried.catch((error: unknown) => {
      if (error instanceof CommitFailed) throw new CallsNotOpened(error);
      throw error;
    });
  }

  /**
   * [C X-05] Calls of an earlier process: those that the upstream still has go on, the others are
   * closed, in the log when this resolves.
   *
   * @param progress - with an upstream that outlives the process
   * @returns those that go on
   */
  async restore(
    running: readonly Pick<StreamState, "stream" | "calls">[],
    progress: UpstreamProgress | undefined,
    reason: OutcomeUnknownReason,
  ): Promise<readonly InFlightCall[]> {
    this.inFlight.skipTo(progress?.lastNumber ?? 0);
    const { resumed, lost } = sortRunning(running, progress?.calls ?? []);
    for (const places of lost) {
      await this.#host.commits.add(places.map((place) => unknownOutcome(place, reason)));
      const { telemetry, tag } = this.#host;
      for (const place of places) telemetry.callAbandoned(tag, place, reason);
    }
    return resumed.map(({ place, kept }) => this.inFlight.resume(place, kept));
  }

  /** [C X-05] Calls whose outcome cannot be stored: their streams, and what to tell of them. */
  unstored(): ReadonlyMap<number, string> {
    const frames = new Map<number, string>();
    for (const call of this.#unstored) {
      // Without an id: the cursor stays, and finds the outcome once it is stored.
      const frame = frameEvent({ data: outcomeUnknownMessage(call, "unreachable") });
      frames.set(call.stream, (frames.get(call.stream) ?? "") + frame);
    }
    return frames;
  }

  /**
   * Hand opened calls to the upstream.
   *
   * @param headers - of the client's request, those that are passed on
   */
  deliver(opened: Pick<OpenedCalls, "calls">, headers: ForwardedHeaders): void {
    for (const { call, request } of opened.calls) {
      // Cancelled, or ended with its session, between the two steps.
      if (this.inFlight.get(call.number) !== call) continue;
      const text = call.trace?.outbound(request.text, request.params) ?? request.text;
      this.#host.desk().sendNumbered(text, call.number, headers);
      this.#host.onDelivered(request);
    }
  }

  /**
   * Let an opened call wait for another that runs under the same key [C X-03].
   *
   * @param owner - the calls of the session to which the running one belongs
   */
  join(call: InFlightCall, owner: SessionCalls, running: InFlightCall): void {
    const caller = {
      call,
      tokenJson: call.tokenJson,
      append: (op: AppendOp) => void this.#host.append(op),
      settle: (answer: (place: CallPlace) => ResponseOp) => {
        this.inFlight.remove(call);
        this.#answered(call, answer(call));
      },
    };
    running.attached.add(caller);
    call.waiting = {
      sibling: owner === this ? running : undefined,
      leave: () => running.attached.delete(caller),
    };
  }

  /** A call has its outcome: it goes to its own stream, and to all that wait for it. */
  settle(call: InFlightCall, answer: (place: CallPlace) => ResponseOp): void {
    if (this.inFlight.get(call.number) !== call) return;
    this.inFlight.remove(call);
    call.waiting?.leave();
    this.#answered(call, answer(call));
    for (const caller of call.attached) caller.settle(answer);
  }

  /** [C X-01] A client's cancellation; of nothing, it does nothing. */
  cancel(notification: IncomingNotification): void {
    const span = locate(notification.text, "params", "requestId").at(-1);
    if (span === undefined) return;
    const call = this.inFlight.newestWithId(notification.text.slice(span.start, span.end));
    // The transport spec forbids to cancel `initialize`; a call that is over needs no cancelling.
    if (call === undefined || call.method === "initialize") return;
    // Who waits for a call of this very session means that call.
    const run = call.waiting === undefined ? call : call.waiting.sibling;
    if (run !== undefined) {
      const text = splice(notification.text, [{ ...span, insert: String(run.number) }]);
      this.#host.desk().send(text);
    }
    for (const over of new Set([call, run])) {
      if (over === undefined) continue;
      const op: Op = { op: "cancel", stream: over.stream, call: over.index };
      this.#host.telemetry.callOver(this.#host.tag, over, "cancelled");
      this.#leave(over, "window-expired", this.#host.commits.add([op]));
    }
  }

  /** Say something on the stream of a call. */
  say(call: InFlightCall, text: string): void {
    if (this.inFlight.get(call.number) !== call) return;
    void this.#host.append({ op: "append", kind: "notification", stream: call.stream, text });
  }

  /** Take a call back that was not delivered. */
  withdraw(call: InFlightCall): void {
    if (this.inFlight.get(call.number) !== call) return;
    const op: Op = { op: "cancel", stream: call.stream, call: call.index };
    this.#leave(call, "window-expired", this.#host.commits.add([op]));
  }

  /** Whether a notification is the cancellation of a call that is in flight here. */
  isOfCallHere({ method, text }: IncomingNotification): boolean {
    if (method !== "notifications/cancelled") return false;
    const span = locate(text, "params", "requestId").at(-1);
    if (span === undefined) return false;
    return this.inFlight.newestWithId(text.slice(span.start, span.end)) !== undefined;
  }

  /** [C X-05] The upstream is gone: what it was doing has an unknown outcome. */
  lose(reason: OutcomeUnknownReason): void {
    for (const call of this.inFlight.all()) {
      if (call.waiting === undefined) this.settle(call, (place) => unknownOutcome(place, reason));
    }
  }

  /** [C D-01] The outcomes with which calls end when their session does. */
  endings(): readonly ResponseOp[] {
    return this.inFlight.all().map((call) => unknownOutcome(call, "session-ended"));
  }

  /** The session is over, and {@link endings} are in the log. */
  leaveAll(): void {
    for (const call of this.inFlight.all()) {
      this.#host.telemetry.callOver(this.#host.tag, call, "session-ended");
      this.#leave(call, "session-ended", Promise.resolve());
    }
  }

  /** A call is over without a response of its own; whoever waits for it gets the reason. */
  #leave(call: InFlightCall, reason: OutcomeUnknownReason, isLogged: Promise<unknown>): void {
    this.inFlight.remove(call);
    call.waiting?.leave();
    for (const caller of call.attached) caller.settle((place) => unknownOutcome(place, reason));
    this.#over(call, isLogged);
  }

  #answered(call: InFlightCall, answer: ResponseOp): void {
    this.#host.telemetry.callOver(this.#host.tag, call, answer.unknown ?? "answered");
    this.#over(call, this.#store(call, answer));
  }

  #store(call: InFlightCall, answer: AppendOp): Promise<CommitOutcome> {
    this.#unstored.add(call);
    return this.#host.append(answer).then((outcome) => {
      this.#unstored.delete(call);
      return outcome;
    });
  }

  /** Resolves when no call is in flight any more, nor about to be opened. */
  async allOver(): Promise<void> {
    while (this.count > 0) {
      await new Promise<void>((resolve) => {
        this.#onOver.push(resolve);
      });
    }
  }

  #over(call: InFlightCall, isLogged: Promise<unknown>): void {
    call.onOver?.(isLogged);
    for (const listener of this.#onOver.splice(0)) listener();
    this.#host.onOver();
  }
}
