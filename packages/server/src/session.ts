/**
 * One session: what its client and its upstream say to each other, by way of the log.
 *
 *     client ──open──▶ log ──deliver──▶ upstream ──answers──▶ log ──viewport──▶ client
 *
 * Nothing here knows HTTP: a viewport is attached to a sink, and no closing of a sink changes the
 * session [C S-01].
 *
 *     initializing ──answered──▶ live ──end──▶ ending ──committed──▶ ended
 *          └──refused, upstream lost──▶ ending
 */
import {
  type EventId,
  type EventPlace,
  isPrimedVersion,
  type OutcomeUnknownReason,
  resumeCapabilityKey,
  standaloneStream,
} from "@holdfast/contract";
import {
  type CommitOutcome,
  type EndReason,
  incarnationAt,
  type KeyClaim,
  type Op,
  type ReadOutcome,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import {
  type AppendOp,
  type CallPlace,
  oversizedAnswer,
  type ResponseOp,
  responseTo,
  unknownOutcome,
} from "./answers.ts";
import { type InFlightCall, InFlightCalls, recordOf } from "./calls.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { Sink } from "./http/exchange.ts";
import type { IncomingNotification, IncomingRequest, IncomingResponse } from "./incoming.ts";
import { locate } from "./json/locate.ts";
import { replaceAt, setMember, splice } from "./json/splice.ts";
import { bounds } from "./options.ts";
import { RefusedCursors } from "./refused-cursors.ts";
import { Repeatable } from "./repeatable.ts";
import { Rest } from "./rest.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { journal, type SessionData, writeSessionData } from "./session-data.ts";
import { UpstreamDesk } from "./upstream-desk.ts";
import type { ViewportStart } from "./viewport.ts";
import { Viewports } from "./viewports.ts";

/** Calls that have a stream, and wait to be handed to the upstream. */
export interface OpenedCalls {
  readonly kind: "opened";
  /** The place before the stream's first event. */
  readonly begin: EventPlace;
  readonly calls: readonly { readonly call: InFlightCall; readonly request: IncomingRequest }[];
}

export type OpenOutcome =
  | OpenedCalls
  | Extract<CommitOutcome, { readonly kind: "full" | "absent" | "claimed" }>;

export interface SessionBirth {
  readonly id: SessionId;
  readonly tag: string;
  readonly principal: string;
  readonly data: SessionData;
  /** Number of the next stream that it may open. */
  readonly nextStream: number;
}

/** What the registry wants to know of a session. */
export interface SessionEvents {
  onEnded(session: Session): void;
  /** A call is over. */
  onCallOver(): void;
}

export class Session {
  readonly id: SessionId;
  readonly tag: string;
  readonly principal: string;
  readonly #context: RuntimeContext;
  readonly #events: SessionEvents;
  readonly #calls = new InFlightCalls();
  readonly #refused = new RefusedCursors();
  readonly #repeatable: Repeatable;
  readonly #viewports: Viewports;
  readonly #desk: UpstreamDesk;
  readonly #commits: CommitQueue;
  #data: SessionData;
  #nextStream: number;
  #ending: Promise<boolean> | undefined;
  #ended: EndReason | undefined;
  readonly #rest: Rest;

  constructor(context: RuntimeContext, birth: SessionBirth, events: SessionEvents) {
    this.#context = context;
    this.#events = events;
    this.id = birth.id;
    this.tag = birth.tag;
    this.principal = birth.principal;
    this.#data = birth.data;
    this.#nextStream = birth.nextStream;
    this.#rest = new Rest(context.clock, birth.data.initialized !== undefined);
    this.#viewports = new Viewports(
      {
        read: (cursor) => this.read(cursor),
        follow: (stream, wake) => context.log.follow(this.id, stream, wake),
        ended: () => this.#ended,
        ending: () => this.#ending,
        storeWritten: (position) =>
          this.#commits.tryOnce([{ op: "written", stream: standaloneStream, position }]),
        onClosed: () => this.#rest.active(),
      },
      context,
      birth.tag,
    );
    this.#commits = new CommitQueue(context.log, birth.id, birth.tag, (error) =>
      context.logger.error({ session: birth.tag, error }, "the event log does not take writes"),
    );
    this.#desk = this.#openDesk();
    this.#repeatable = new Repeatable(
      (params) => this.#ask("tools/list", params),
      bounds.toolListPagesMax,
    );
  }

  /** The negotiated protocol version; unknown until `initialize` is answered. */
  get version(): string | undefined {
    return this.#data.version;
  }

  /** [C E-05] this client's streams begin with a priming event, not with a comment. */
  get isPrimed(): boolean {
    const { version, clientName } = this.#data;
    if (version === undefined || !isPrimedVersion(version)) return false;
    return clientName === undefined || !this.#context.options.noPrime.includes(clientName);
  }

  get isOver(): boolean {
    return this.#ending !== undefined || this.#ended !== undefined;
  }

  /** The upstream does not keep up: new work should be refused. */
  get isOverloaded(): boolean {
    return this.#desk.isFull;
  }

  get callsInFlight(): number {
    return this.#calls.size;
  }

  /** Streams with a call that runs. */
  get streamsOpen(): number {
    return this.#calls.streams;
  }

  /** A call runs, or a viewport is attached: the session does not rest [C S-02]. */
  get isInUse(): boolean {
    return this.#calls.size > 0 || this.#viewports.size > 0;
  }

  /** How long the session has rested, milliseconds; undefined while it is in use. */
  get restedMs(): number | undefined {
    return this.isInUse || this.isOver ? undefined : this.#rest.restedMs;
  }

  /** How long nothing has come from either side, milliseconds; undefined while something is due. */
  get quietMs(): number | undefined {
    return this.isInUse || this.isOver || this.#desk.hasQuestions ? undefined : this.#rest.quietMs;
  }

  /** The client came back after `initialize` [C S-03]. */
  get isUsed(): boolean {
    return this.#rest.isUsed;
  }

  /** The client said something. */
  touch(): void {
    if (this.#rest.use()) void this.#commits.add([{ op: "touch", isUsed: true }]);
  }

  /** Let the log know, lazily, that the session is or was in use. */
  async storeTouch(): Promise<void> {
    if (this.isOver || !this.#rest.tell(this.isInUse)) return;
    // Missing it makes the session rest earlier after a crash; the next one makes up for it.
    await this.#commits.tryOnce([{ op: "touch", isUsed: this.isUsed }]).catch(() => undefined);
  }

  /**
   * [C X-05] Close what an earlier process was running; it is in the log when this resolves.
   *
   * @returns false when the session cannot go on: its `initialize` was never answered [C S-07]
   */
  async restore(): Promise<boolean> {
    for (const { stream, calls } of await this.#context.log.running(this.id)) {
      const ops = calls.flatMap((call, index) =>
        call.state === "running"
          ? [unknownOutcome({ ...call, stream, index }, "process-restarted")]
          : [],
      );
      await this.#commits.add(ops);
    }
    if (this.#data.version !== undefined) return true;
    await this.end("ended");
    return false;
  }

  /**
   * Open a stream for calls: in the log before anything else happens with them.
   *
   * @param extra - the session's creation, for `initialize`; the claim of an idempotency key
   * @throws what the log throws: the calls did not run
   */
  async open(
    requests: readonly IncomingRequest[],
    extra: { readonly creation?: readonly Op[]; readonly claim?: KeyClaim } = {},
  ): Promise<OpenOutcome> {
    const stream = this.#nextStream;
    this.#nextStream++;
    const startedAtMs = this.#context.clock.wallMs();
    const recorded = requests.map((request) => recordOf(request, startedAtMs, extra.claim));
    const open: Op = { op: "open", stream, calls: recorded };
    const outcome = await this.#commits.tryOnce([...(extra.creation ?? []), open]);
    if (outcome.kind === "full" || outcome.kind === "claimed") return outcome;
    const begin = outcome.kind === "committed" ? outcome.begun.at(-1) : undefined;
    if (begin === undefined || this.isOver) return { kind: "absent" };
    const calls = requests.map((request, index) => ({
      call: this.#calls.start(request, startedAtMs, stream, index),
      request,
    }));
    return { kind: "opened", begin, calls };
  }

  /** Hand opened calls to the upstream. */
  deliver(opened: OpenedCalls): void {
    for (const { call, request } of opened.calls) {
      // Cancelled, or ended with its session, between the two steps.
      if (this.#calls.get(call.number) !== call) continue;
      this.#desk.sendNumbered(request.text, call.number);
      this.#record(journal(this.#data, request));
    }
  }

  /** Let an opened call wait for another that runs under the same key [C X-03]. */
  join(call: InFlightCall, owner: Session, running: InFlightCall): void {
    const caller = {
      call,
      tokenJson: call.tokenJson,
      append: (op: AppendOp) => void this.#append(op),
      settle: (answer: (place: CallPlace) => AppendOp) => {
        this.#calls.remove(call);
        this.#over(call, this.#append(answer(call)));
      },
    };
    running.attached.add(caller);
    call.waiting = {
      sibling: owner === this ? running : undefined,
      leave: () => running.attached.delete(caller),
    };
  }

  /** Answer an opened call in place of the upstream. */
  settle(call: InFlightCall, op: ResponseOp): void {
    if (this.#calls.get(call.number) === call) this.#settle(call, () => op);
  }

  /** [C X-05] Whether a request may run again although it may have run before. */
  isRepeatable(method: string, name: string | undefined): Promise<boolean> {
    return this.#repeatable.isRepeatable(method, name);
  }

  /** A notification of the client. */
  notify(notification: IncomingNotification): void {
    if (notification.method === "notifications/cancelled") {
      this.#onCancelled(notification);
      return;
    }
    this.#desk.send(notification.text);
    this.#record(journal(this.#data, notification));
  }

  /** [C X-06] An answer of the client; the first one counts, on whatever connection. */
  answer(response: IncomingResponse): void {
    this.#desk.answer(response.idJson, response.text);
  }

  /** Show a stream on a sink, from a place on; whoever showed it before is let go [C R-02]. */
  show(sink: Sink, start: ViewportStart): void {
    // Who listens to the standalone stream listens for an upstream.
    if (start.cursor.stream === standaloneStream) this.#desk.wake();
    this.#viewports.show(sink, start);
  }

  read(cursor: EventPlace): Promise<ReadOutcome> {
    const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
    return this.#context.log.read(this.id, cursor, limit);
  }

  stream(stream: number): Promise<StreamState | undefined> {
    return this.#context.log.stream(this.id, stream);
  }

  /** [C R-07] The place on the standalone stream through which a viewport has shown it. */
  async unseen(): Promise<EventPlace | undefined> {
    const state = await this.stream(standaloneStream);
    if (state === undefined) return undefined;
    this.#viewports.restoreWritten(state.writtenThrough);
    const position = Math.min(this.#viewports.writtenThrough, state.head);
    // So old that its incarnation is forgotten: the log judges it a gap, of unknown extent.
    const incarnation = incarnationAt(state.runs, position) ?? "";
    return { tag: this.tag, stream: standaloneStream, position, incarnation };
  }

  /** [C R-09] Whether this cursor was refused a short while ago; it is remembered either way. */
  isRefusedAgain(cursor: EventId): boolean {
    return this.#refused.isRepeated(cursor, this.#context.clock.monotonicMs());
  }

  /** [C D-02] Let go of viewports: of the standalone one, or of all; the session stays. */
  releaseViewports(which: "standalone" | "all", retryMs: () => number): void {
    this.#viewports.release(which, retryMs);
  }

  /**
   * [C D-01] End the session: every call in flight gets its outcome first.
   *
   * @returns false when it was over already
   * @throws what the log throws: the session goes on
   */
  async end(reason: EndReason): Promise<boolean> {
    if (this.isOver) return false;
    this.#ending = this.#commitEnd(reason);
    try {
      return await this.#ending;
    } finally {
      this.#ending = undefined;
    }
  }

  onEvicted(stream: number, through: number): void {
    this.#desk.onEvicted(stream, through);
  }

  /** Stop without ending: what the log has, the next process, or this one, goes on from. */
  async suspend(): Promise<void> {
    await this.#viewports.flush();
    await this.storeTouch();
    this.#commits.close();
    await this.#desk.close();
  }

  #openDesk(): UpstreamDesk {
    return new UpstreamDesk(
      {
        tag: this.tag,
        calls: this.#calls,
        data: () => this.#data,
        append: (op, onDone) => {
          void this.#append(op).then((outcome) => {
            const place = outcome.kind === "committed" ? outcome.appended[0] : undefined;
            if (place !== undefined) onDone?.(place.position);
          });
        },
        room: () => this.#commits.room(),
        onResponse: (call, text) => this.#onResponse(call, text),
        onOversized: (call, bytes, bytesMax) => {
          const answer = (place: CallPlace) => oversizedAnswer(place, bytes, bytesMax);
          if (call.method === "initialize") this.#endAtBirth(call, answer(call));
          else this.#settle(call, (place) => responseTo(place, answer(place)));
        },
        onToolsChanged: () => this.#repeatable.forget(),
        onLost: () => this.#onUpstreamLost(),
        onRefused: () => this.#endForGood("the upstream refused to be restored"),
      },
      this.#context,
    );
  }

  async #commitEnd(reason: EndReason): Promise<boolean> {
    const calls = this.#calls.all();
    const outcome = await this.#commits.tryOnce([
      ...calls.map((call) => unknownOutcome(call, "session-ended")),
      { op: "end", reason },
    ]);
    this.#ended = outcome.kind === "committed" ? reason : "ended";
    for (const call of calls) this.#leave(call, "session-ended");
    this.#viewports.refresh();
    this.#events.onEnded(this);
    this.#commits.close();
    void this.#desk.close();
    return outcome.kind === "committed";
  }

  #onResponse(call: InFlightCall, text: string): void {
    const answer = (place: CallPlace) => replaceAt(text, ["id"], place.id);
    if (call.method === "initialize") this.#onInitialized(call, answer(call));
    else this.#settle(call, (place) => responseTo(place, answer(place)));
  }

  /** The session is live once its `initialize` is answered, and over when that is refused. */
  #onInitialized(call: InFlightCall, answer: string): void {
    const { result } = JSON.parse(answer) as { result?: { protocolVersion?: unknown } | null };
    const version = result?.protocolVersion;
    if (typeof version !== "string") return this.#endAtBirth(call, answer);
    this.#record({ ...this.#data, version });
    const capability = JSON.stringify(this.#context.capability);
    const path = ["result", "capabilities", "experimental", resumeCapabilityKey];
    this.#settle(call, (place) => responseTo(place, setMember(answer, path, capability)));
  }

  /** [C S-03] The stream of `initialize` ends with the error, the id answers 404 `ended`. */
  #endAtBirth(call: InFlightCall, answer: string): void {
    this.#settle(call, (place) => responseTo(place, answer));
    this.#endForGood("the upstream refused to be initialized");
  }

  #endForGood(why: string): void {
    this.#context.logger.warn({ session: this.tag, why }, "the session is ended");
    this.end("ended").catch((error: unknown) =>
      this.#context.logger.error({ session: this.tag, error }, "a session could not be ended"),
    );
  }

  /** A call is over: its response goes to its own stream, and to all that wait for it. */
  #settle(call: InFlightCall, answer: (place: CallPlace) => ResponseOp): void {
    this.#calls.remove(call);
    call.waiting?.leave();
    this.#over(call, this.#append(answer(call)));
    for (const caller of call.attached) caller.settle(answer);
  }

  /** A call is over without a response that could be passed on. */
  #leave(call: InFlightCall, reason: OutcomeUnknownReason): void {
    this.#calls.remove(call);
    call.waiting?.leave();
    for (const caller of call.attached) caller.settle((place) => unknownOutcome(place, reason));
    this.#over(call, Promise.resolve());
  }

  #over(call: InFlightCall, isLogged: Promise<unknown>): void {
    call.onOver?.(isLogged);
    this.#events.onCallOver();
  }

  #append(op: AppendOp): Promise<CommitOutcome> {
    this.#rest.event();
    return this.#commits.add([op], op.text.length);
  }

  /** [C X-01] */
  #onCancelled(notification: IncomingNotification): void {
    const span = locate(notification.text, "params", "requestId").at(-1);
    if (span === undefined) return;
    const call = this.#calls.newestWithId(notification.text.slice(span.start, span.end));
    // The transport spec forbids to cancel `initialize`; a call that is over needs no cancelling.
    if (call === undefined || call.method === "initialize") return;
    // Who waits for a call of this very session means that call.
    const run = call.waiting === undefined ? call : call.waiting.sibling;
    if (run !== undefined) {
      this.#desk.send(splice(notification.text, [{ ...span, insert: String(run.number) }]));
    }
    for (const over of new Set([call, run])) {
      if (over === undefined) continue;
      over.waiting?.leave();
      void this.#commits.add([{ op: "cancel", stream: over.stream, call: over.index }]);
      this.#leave(over, "window-expired");
    }
  }

  /** [C X-05] What the upstream was doing has an unknown outcome; nobody waits for it. */
  #onUpstreamLost(): void {
    for (const call of this.#calls.all()) {
      if (call.waiting !== undefined) continue;
      this.#settle(call, (place) => unknownOutcome(place, "upstream-exited"));
    }
    if (this.#data.version === undefined && !this.isOver) {
      this.#endForGood("the upstream was lost before it was initialized");
    }
  }

  async #ask(method: string, params: object): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), bounds.toolListMs);
    });
    try {
      return await Promise.race([this.#desk.ask(method, params), isLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Keep what a fresh upstream would have to be told. */
  #record(data: SessionData): void {
    if (data === this.#data) return;
    this.#data = data;
    void this.#commits.add([{ op: "record", data: writeSessionData(data) }]);
  }
}
