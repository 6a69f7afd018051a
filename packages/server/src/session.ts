/**
 * One session: what its client and its upstream say to each other, by way of the log.
 *
 *     client ──calls──▶ log ──deliver──▶ upstream ──answers──▶ log ──viewport──▶ client
 *
 * Nothing here knows HTTP: a viewport is attached to a sink, and no closing of a sink changes the
 * session [C S-01].
 *
 *     initializing ──answered──▶ live ──end──▶ ending ──committed──▶ ended
 *          └──refused, upstream lost──▶ ending
 */
import { type OutcomeUnknownReason, replaceAt, standaloneStream } from "@holdfast/contract";
import type { CommitOutcome, EndReason, Op, SessionId, SessionState } from "@holdfast/log";
import {
  type AppendOp,
  type CallPlace,
  oversizedAnswer,
  responseTo,
  unknownOutcome,
  unusableAnswer,
} from "./answers.ts";
import type { InFlightCall } from "./calls.ts";
import { CommitQueue, type StoreNews } from "./commit-queue.ts";
import type { IncomingNotification, IncomingRequest, IncomingResponse } from "./incoming.ts";
import { readInitialized } from "./initialized.ts";
import { bounds } from "./options.ts";
import { Repeatable } from "./repeatable.ts";
import { Rest } from "./rest.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import type { SessionBirth, SessionEvents, Unfinished } from "./session-birth.ts";
import { SessionCalls } from "./session-calls.ts";
import { isPrimed, journal, type SessionData, writeSessionData } from "./session-data.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import { UpstreamDesk } from "./upstream-desk.ts";
import { type ViewportHost, Viewports } from "./viewports.ts";

export class Session {
  readonly id: SessionId;
  readonly tag: string;
  readonly principal: string;
  readonly calls: SessionCalls;
  readonly viewports: Viewports;
  readonly #context: RuntimeContext;
  readonly #events: SessionEvents;
  readonly #rest: Rest;
  readonly #commits: CommitQueue;
  readonly #desk: UpstreamDesk;
  readonly #repeatable: Repeatable;
  #data: SessionData;
  #headers: ForwardedHeaders;
  #ending: Promise<boolean> | undefined;
  #ended: EndReason | undefined;
  #isAbandoned = false;

  constructor(context: RuntimeContext, birth: SessionBirth, events: SessionEvents) {
    this.#context = context;
    this.#events = events;
    this.id = birth.id;
    this.tag = birth.tag;
    this.principal = birth.principal;
    this.#data = birth.data;
    this.#headers = birth.headers;
    this.#rest = new Rest(context.clock, birth.data.initialized !== undefined);
    const { id, tag, fence } = birth;
    const log = context.telemetry.watch(context.log);
    this.#commits = new CommitQueue(log, id, tag, this.#storeNews(), fence);
    this.viewports = birth.viewports ?? new Viewports(this.#viewportHost(), context);
    this.calls = this.#openCalls(birth.nextStream, fence !== undefined);
    this.#desk = this.#openDesk();
    this.#repeatable = new Repeatable(
      (params) => this.#desk.ask("tools/list", params),
      bounds.toolListPagesMax,
    );
  }

  /** The negotiated protocol version; unknown until `initialize` is answered. */
  get version(): string | undefined {
    return this.#data.version;
  }

  /** [C E-05] this client's streams begin with a priming event, not with a comment. */
  get isPrimed(): boolean {
    return isPrimed(this.#data, this.#context.options.noPrime);
  }

  get isOver(): boolean {
    return this.#ending !== undefined || this.#ended !== undefined;
  }

  /** Resolves when an end that is under way is settled: the session is over, or goes on. */
  async endSettled(): Promise<void> {
    await this.#ending?.catch(() => undefined);
  }

  /** The upstream does not keep up: new work should be refused. */
  get isOverloaded(): boolean {
    return this.#desk.isFull;
  }

  /** A call runs, or a viewport is attached: the session does not rest [C S-02]. */
  get isInUse(): boolean {
    return this.calls.inFlight.size > 0 || this.viewports.size > 0;
  }

  /** As the log would give it, as far as it is kept here. */
  get state(): SessionState {
    const { id, tag, principal } = this;
    const data = writeSessionData(this.#data);
    return { session: id, tag, principal, data, createdAtMs: 0, nextStream: 0 };
  }

  /** It goes on elsewhere: what is done with it here has no effect. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
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

  /** The client said something. @param headers - of its request, those that are passed on */
  touch(headers: ForwardedHeaders = this.#headers): void {
    this.#headers = headers;
    if (this.#rest.use()) void this.#commits.add([{ op: "touch", isUsed: true }]);
  }

  /** Let the log know, lazily, that the session is or was in use. */
  async storeTouch(): Promise<void> {
    if (this.isOver || !this.#rest.tell(this.isInUse)) return;
    // Missing it makes the session rest earlier after a crash; the next one makes up for it.
    await this.#commits.tryOnce([{ op: "touch", isUsed: this.isUsed }]).catch(() => undefined);
  }

  /**
   * [C X-05] Close what nobody runs any more; it is in the log when this resolves.
   *
   * @returns false when the session cannot go on: its `initialize` was never answered [C S-07]
   */
  async restore(known: Unfinished = {}): Promise<boolean> {
    const { upstream } = this.#data;
    const isOutlived = this.#context.upstream.outlivesProcess === true;
    const { waiting = new Set(), reason = "process-restarted" } = known;
    const unfinished = known.running ?? (await this.#context.log.running(this.id));
    const running = unfinished.filter(({ stream }) => !waiting.has(stream));
    const resumed = await this.calls.restore(running, isOutlived ? upstream : undefined, reason);
    if (this.#data.version === undefined && waiting.size === 0) {
      await this.end("ended");
      return false;
    }
    if (resumed.length > 0) this.#desk.resume(resumed);
    return true;
  }

  /** [C X-05] Whether a request may run again although it may have run before. */
  isRepeatable(method: string, name: string | undefined): Promise<boolean> {
    return this.#repeatable.isRepeatable(method, name);
  }

  /** A notification of the client. */
  notify(notification: IncomingNotification): void {
    if (notification.method === "notifications/cancelled") {
      this.calls.cancel(notification);
      return;
    }
    this.#desk.send(notification.text);
    this.#record(journal(this.#data, notification));
  }

  /** [C X-06] An answer of the client; the first one counts, on whatever connection. */
  answer(response: IncomingResponse): void {
    this.#desk.answer(response.idJson, response.text);
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

  /** Viewports of a stream on other nodes let go: one is to be shown here [C R-02]. */
  async attach(stream: number, viewer: string): Promise<void> {
    await this.#commits.tryOnce([{ op: "attach", stream, viewer }]);
  }

  /** Its viewports show it as it is run here from now on. */
  serveViewports(): void {
    this.viewports.serve(this.#viewportHost());
  }

  /** Somebody listens to the standalone stream: an upstream should run. */
  listen(): void {
    this.#desk.wake();
  }

  /** [C W-03] Look whether questions have left the log: another node may have swept them out. */
  reviewQuestions(): Promise<void> {
    return this.#desk.reviewQuestions((stream) => this.#context.log.stream(this.id, stream));
  }

  /** Say something to whoever owns the session next. */
  leaveWord(ops: readonly Op[]): Promise<unknown> {
    return this.#commits.add(ops);
  }

  /** [C N-02] Stop at once: another node runs it, or may. Its upstream ends, the log is left alone. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#commits.close();
    await this.#desk.close("rest");
  }

  /** Another node is to run it: nothing new is begun here from now on. */
  retire(): void {
    this.#isAbandoned = true;
  }

  /** Stop without ending: what the log has, the next process, or this one, goes on from. */
  async suspend(): Promise<void> {
    await this.viewports.flush();
    await this.storeTouch();
    this.#commits.close();
    await this.#desk.close("rest");
  }

  #storeNews(): StoreNews {
    const { logger, options } = this.#context;
    const session = this.tag;
    return {
      onFailure: (error) => logger.error({ session, error }, "the event log does not take writes"),
      onHealed: () => logger.info({ session }, "the event log takes writes again"),
      onStuck: () => {
        logger.error({ session }, "the event log still takes no writes: callers are told");
        for (const [stream, frame] of this.calls.unstored()) this.viewports.giveUp(stream, frame);
      },
      patienceMs: options.storePatienceMs,
      onFenced: () => this.#events.onFenced(this),
    };
  }

  #viewportHost(): ViewportHost {
    return {
      id: this.id,
      tag: this.tag,
      ended: () => this.#ended,
      ending: () => this.#ending,
      storeWritten: (position) =>
        this.#commits.tryOnce([{ op: "written", stream: standaloneStream, position }]),
      // Who listens to the standalone stream listens for an upstream.
      onShown: (stream, after, isResume) => {
        if (stream === standaloneStream) this.#desk.wake();
        if (isResume) this.calls.inFlight.eachOn(stream, ({ trace }) => trace?.resumed(after));
      },
      onClosed: (stream, end) => {
        this.#rest.active();
        this.calls.inFlight.eachOn(stream, ({ trace }) => trace?.cut(end));
      },
    };
  }

  #openCalls(nextStream: number, isShared: boolean): SessionCalls {
    return new SessionCalls(
      {
        commits: this.#commits,
        isShared,
        desk: () => this.#desk,
        isOver: () => this.isOver,
        isMoved: () => this.#isAbandoned,
        wallMs: () => this.#context.clock.wallMs(),
        append: (op) => this.#append(op),
        telemetry: this.#context.telemetry,
        tag: this.tag,
        onDelivered: (request: IncomingRequest) => this.#record(journal(this.#data, request)),
        onOver: () => this.#events.onCallOver(),
      },
      nextStream,
    );
  }

  #openDesk(): UpstreamDesk {
    return new UpstreamDesk(
      {
        id: this.id,
        tag: this.tag,
        principal: this.principal,
        calls: this.calls.inFlight,
        headers: () => this.#headers,
        data: () => this.#data,
        keep: (text) => this.#keep(text),
        together: (run) => this.#commits.together(run),
        onUnknown: (call, reason) => this.#onUnknown(call, reason),
        append: (op, onDone) => {
          void this.#append(op).then((outcome) => {
            const place = outcome.kind === "committed" ? outcome.appended[0] : undefined;
            if (place !== undefined) onDone?.(place.position);
          });
        },
        room: () => this.#commits.room(),
        onResponse: (call, text) =>
          this.#onAnswer(call, (place) => replaceAt(text, ["id"], place.id)),
        onUnusable: (call, why) => this.#onAnswer(call, (place) => unusableAnswer(place, why)),
        onOversized: (call, bytes, bytesMax) =>
          this.#onAnswer(call, (place) => oversizedAnswer(place, bytes, bytesMax)),
        letGo: (stream) => {
          // Others have no cursor yet to come back with.
          if (this.isPrimed) this.viewports.letGo(stream, this.#context.options.retryMs);
        },
        onToolsChanged: () => this.#repeatable.forget(),
        onLost: (outcome) => this.#onUpstreamLost(outcome),
        onRefused: () => this.#endForGood("the upstream refused to be restored"),
      },
      this.#context,
    );
  }

  async #commitEnd(reason: EndReason): Promise<boolean> {
    const outcome = await this.#commits.tryOnce([...this.calls.endings(), { op: "end", reason }]);
    if (outcome.kind === "fenced") return false;
    this.#ended = outcome.kind === "committed" ? reason : "ended";
    if (outcome.kind === "committed") this.#context.telemetry.sessionEnded(this.tag, reason);
    this.calls.leaveAll();
    this.viewports.refresh();
    this.#events.onEnded(this);
    this.#commits.close();
    void this.#desk.close("over");
    return outcome.kind === "committed";
  }

  #onAnswer(call: InFlightCall, answer: (place: CallPlace) => string): void {
    if (call.method === "initialize") this.#onInitialized(call, answer(call));
    else this.calls.settle(call, (place) => responseTo(place, answer(place)));
  }

  /** The session is live once its `initialize` is answered, and over when that is refused. */
  #onInitialized(call: InFlightCall, answer: string): void {
    const { version, text } = readInitialized(call, answer, this.#context.capability);
    if (version !== undefined) this.#record({ ...this.#data, version });
    this.calls.settle(call, (place) => responseTo(place, text));
    // [C S-03] its stream ends with an error, the id answers 404 `ended`
    if (version === undefined) this.#endForGood("the upstream refused to be initialized");
  }

  #onUnknown(call: InFlightCall, reason: OutcomeUnknownReason): void {
    this.calls.settle(call, (place) => unknownOutcome(place, reason));
    if (call.method === "initialize") this.#endForGood("initialize was not answered");
  }

  #onUpstreamLost(outcome: OutcomeUnknownReason): void {
    this.calls.lose(outcome);
    if (this.#data.version === undefined && !this.isOver) {
      this.#endForGood("the upstream was lost before it was initialized");
    }
  }

  #endForGood(why: string): void {
    this.#context.logger.warn({ session: this.tag, why }, "the session is ended");
    this.end("ended").catch((error: unknown) =>
      this.#context.logger.error({ session: this.tag, error }, "a session could not be ended"),
    );
  }

  #append(op: AppendOp): Promise<CommitOutcome> {
    this.#rest.event();
    return this.#commits.add([op], op.text.length);
  }

  /** What the upstream keeps, with the calls that it has. */
  async #keep(kept: string): Promise<void> {
    this.#data = { ...this.#data, upstream: { kept, ...this.calls.inFlight.progress() } };
    await this.#commits.add([{ op: "record", data: writeSessionData(this.#data) }]);
  }

  /** Keep what a fresh upstream would have to be told. */
  #record(data: SessionData): void {
    if (data === this.#data) return;
    this.#data = data;
    void this.#commits.add([{ op: "record", data: writeSessionData(data) }]);
  }
}
