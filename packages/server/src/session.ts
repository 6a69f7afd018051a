/**
 * One session: what its client and its upstream say to each other, by way of the log.
 *
 *     client ──open──▶ log ──deliver──▶ upstream ──route──▶ log ──viewport──▶ client
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
  resumeCapabilityKey,
  standaloneStream,
} from "@holdfast/contract";
import {
  type EndReason,
  incarnationAt,
  type Op,
  type ReadOutcome,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import {
  type AppendOp,
  oversizedAnswer,
  responseTo,
  unfetchedQuestion,
  unknownOutcome,
} from "./answers.ts";
import { type InFlightCall, InFlightCalls } from "./calls.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { Sink } from "./http/exchange.ts";
import type { IncomingNotification, IncomingRequest, IncomingResponse } from "./incoming.ts";
import { elementsOf, locate } from "./json/locate.ts";
import { numbered } from "./json/numbered.ts";
import { replaceAt, setMember, splice } from "./json/splice.ts";
import { bounds } from "./options.ts";
import { Questions } from "./questions.ts";
import { RefusedCursors } from "./refused-cursors.ts";
import { type Route, route } from "./routing.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { journal, type SessionData, writeSessionData } from "./session-data.ts";
import { replaySetup } from "./setup-journal.ts";
import type { Upstream } from "./upstream.ts";
import { UpstreamLink } from "./upstream-link.ts";
import type { ViewportStart } from "./viewport.ts";
import { Viewports } from "./viewports.ts";

/** Calls that have a stream, and wait to be handed to the upstream. */
export interface OpenedCalls {
  readonly kind: "opened";
  /** The place before the stream's first event. */
  readonly begin: EventPlace;
  readonly calls: readonly { readonly call: InFlightCall; readonly request: IncomingRequest }[];
}

export type OpenOutcome = OpenedCalls | { readonly kind: "full" } | { readonly kind: "absent" };

export interface SessionBirth {
  readonly id: SessionId;
  readonly tag: string;
  readonly data: SessionData;
  /** Number of the next stream that it may open. */
  readonly nextStream: number;
}

export class Session {
  readonly id: SessionId;
  readonly tag: string;
  readonly #context: RuntimeContext;
  readonly #onEnded: (session: Session) => void;
  readonly #calls = new InFlightCalls();
  readonly #questions: Questions;
  /** Setup messages that were replayed: their answers are ours [C S-07]. */
  readonly #replayed = new Map<number, (answer: string) => void>();
  readonly #viewports: Viewports;
  readonly #link: UpstreamLink;
  readonly #commits: CommitQueue;
  #data: SessionData;
  #nextStream: number;
  readonly #refused = new RefusedCursors();
  #ending: Promise<boolean> | undefined;
  #ended: EndReason | undefined;
  #activeAtMs: number;
  #eventAtMs: number;

  constructor(context: RuntimeContext, birth: SessionBirth, onEnded: (session: Session) => void) {
    this.#context = context;
    this.#onEnded = onEnded;
    this.id = birth.id;
    this.tag = birth.tag;
    this.#data = birth.data;
    this.#nextStream = birth.nextStream;
    this.#activeAtMs = context.clock.monotonicMs();
    this.#eventAtMs = this.#activeAtMs;
    this.#questions = new Questions(context.processName);
    this.#viewports = new Viewports(
      {
        read: (cursor) => this.read(cursor),
        follow: (stream, wake) => context.log.follow(this.id, stream, wake),
        ended: () => this.#ended,
        ending: () => this.#ending,
        storeWritten: (position) =>
          this.#commits.tryOnce([{ op: "written", stream: standaloneStream, position }]),
        onClosed: () => this.touch(),
      },
      context,
      birth.tag,
    );
    this.#commits = new CommitQueue(context.log, birth.id, birth.tag, (error) =>
      context.logger.error({ session: birth.tag, error }, "the event log does not take writes"),
    );
    this.#link = new UpstreamLink(context.upstream, birth.tag, {
      setUp: (upstream) => this.#setUp(upstream),
      onMessage: (text, related) => this.#receive(text, related),
      onOversized: (message) => this.#onOversized(message.idJson, message.bytes, message.bytesMax),
      onLost: (reason) => this.#onUpstreamLost(reason),
    });
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

  /** The upstream or the log does not keep up: new work should be refused. */
  get isOverloaded(): boolean {
    return this.#link.isFull;
  }

  /** How long the session has rested, milliseconds; undefined while it is in use [C S-02]. */
  restedMs(): number | undefined {
    if (this.#calls.size > 0 || this.#viewports.size > 0 || this.isOver) return undefined;
    const nowMs = this.#context.clock.monotonicMs();
    const windowMs = this.#context.options.retention.windowMs;
    // [C S-02] never before the window of its newest event has passed.
    if (nowMs - this.#eventAtMs < windowMs) return undefined;
    return nowMs - this.#activeAtMs;
  }

  /** The client said something. */
  touch(): void {
    this.#activeAtMs = this.#context.clock.monotonicMs();
  }

  /**
   * Open a stream for calls: in the log before anything else happens with them.
   *
   * @param creation - what has to be committed with it: the session itself, for `initialize`
   * @throws what the log throws: the calls did not run
   */
  async open(
    requests: readonly IncomingRequest[],
    creation: readonly Op[] = [],
  ): Promise<OpenOutcome> {
    const stream = this.#nextStream;
    this.#nextStream++;
    const startedAtMs = this.#context.clock.wallMs();
    const calls = requests.map((request, index) => ({
      request,
      call: {
        id: request.idJson,
        method: request.method,
        ...(request.name === undefined ? {} : { name: request.name }),
        startedAtMs,
        number: this.#calls.nextNumber(),
        tokenJson: request.tokenJson,
        stream,
        index,
      } satisfies InFlightCall,
    }));
    const recorded = calls.map(({ call: { id, method, name, startedAtMs: at } }) => ({
      id,
      method,
      ...(name === undefined ? {} : { name }),
      startedAtMs: at,
    }));
    const outcome = await this.#commits.tryOnce([
      ...creation,
      { op: "open", stream, calls: recorded },
    ]);
    if (outcome.kind === "full") return { kind: "full" };
    const begin = outcome.kind === "committed" ? outcome.begun.at(-1) : undefined;
    if (begin === undefined || this.isOver) return { kind: "absent" };
    for (const { call } of calls) this.#calls.add(call);
    return { kind: "opened", begin, calls };
  }

  /** Hand opened calls to the upstream. */
  deliver(opened: OpenedCalls): void {
    for (const { call, request } of opened.calls) {
      // Cancelled, or ended with its session, between the two steps.
      if (this.#calls.get(call.number) !== call) continue;
      this.#link.send(numbered(request.text, call.number));
      this.#record(journal(this.#data, request));
    }
  }

  /** A notification of the client. */
  notify(notification: IncomingNotification): void {
    if (notification.method === "notifications/cancelled") {
      this.#cancel(notification);
      return;
    }
    this.#link.send(notification.text);
    this.#record(journal(this.#data, notification));
  }

  /** [C X-06] An answer of the client; the first one counts, on whatever connection. */
  answer(response: IncomingResponse): void {
    const question = this.#questions.take(response.idJson);
    if (question === undefined) return;
    this.#link.send(replaceAt(response.text, ["id"], question.idJson));
  }

  /** Show a stream on a sink, from a place on; whoever showed it before is let go [C R-02]. */
  show(sink: Sink, start: ViewportStart): void {
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

  /** Let go of every viewport; the session stays [C D-02]. */
  releaseViewports(retryMs: () => number): void {
    this.#viewports.release(retryMs);
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

  /** [C W-03] Questions in events that left the log are answered to the upstream. */
  onEvicted(stream: number, through: number): void {
    for (const question of this.#questions.takeEvicted(stream, through)) {
      this.#link.send(unfetchedQuestion(question.idJson));
    }
  }

  /** Stop without ending: what the log has, the next process goes on from. */
  async suspend(): Promise<void> {
    await this.#viewports.flush();
    this.#commits.close();
    await this.#link.close();
  }

  async #commitEnd(reason: EndReason): Promise<boolean> {
    const calls = this.#calls.all();
    const outcome = await this.#commits.tryOnce([
      ...calls.map((call) => unknownOutcome(call, "session-ended")),
      { op: "end", reason },
    ]);
    this.#ended = outcome.kind === "committed" ? reason : "ended";
    for (const call of calls) this.#calls.remove(call);
    this.#questions.clear();
    this.#viewports.refresh();
    this.#onEnded(this);
    this.#commits.close();
    void this.#link.close();
    return outcome.kind === "committed";
  }

  #receive(text: string, related: number | undefined): Promise<void> | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#context.logger.warn({ session: this.tag }, "the upstream sent a line that is not JSON");
      return undefined;
    }
    if (Array.isArray(value)) {
      for (const [index, { start, end }] of elementsOf(text).entries()) {
        this.#take(
          route(text.slice(start, end), value[index], this.#calls, this.#questions.all(), related),
        );
      }
    } else {
      this.#take(route(text, value, this.#calls, this.#questions.all(), related));
    }
    return this.#commits.room();
  }

  #take(taken: Route): void {
    switch (taken.kind) {
      case "response":
        return this.#takeResponse(taken.number, taken.text);
      case "request":
        return this.#takeQuestion(taken.stream, taken.idJson, taken.text);
      case "notification":
        return this.#append({ ...taken, op: "append", kind: "notification" });
      case "withdrawal":
        this.#questions.take(taken.question.wireIdJson);
        return this.#append({
          op: "append",
          kind: "notification",
          stream: taken.question.stream,
          text: taken.text,
        });
      case "dropped":
        this.#context.logger.debug(
          { session: this.tag, why: taken.why },
          "a message of the upstream was dropped",
        );
    }
  }

  #takeResponse(number: number | string, text: string): void {
    const replayed = typeof number === "number" ? this.#replayed.get(number) : undefined;
    if (replayed !== undefined) return replayed(text);
    const call = this.#calls.get(number);
    if (call === undefined) return;
    this.#calls.remove(call);
    const answer = replaceAt(text, ["id"], call.id);
    if (call.method === "initialize") return this.#takeInitialized(call, answer);
    this.#append(responseTo(call, answer));
  }

  /** The session is live once its `initialize` is answered, and over when that is refused. */
  #takeInitialized(call: InFlightCall, answer: string): void {
    const { result } = JSON.parse(answer) as { result?: { protocolVersion?: unknown } };
    const version = result?.protocolVersion;
    if (typeof version !== "string") {
      void this.#endAtBirth(call, answer);
      return;
    }
    this.#data = { ...this.#data, version };
    const capability = JSON.stringify(this.#context.capability);
    const path = ["result", "capabilities", "experimental", resumeCapabilityKey];
    void this.#commits.add([
      { op: "record", data: writeSessionData(this.#data) },
      responseTo(call, setMember(answer, path, capability)),
    ]);
  }

  /** [C S-03] The stream of `initialize` ends with the error, the id answers 404 `ended`. */
  async #endAtBirth(call: InFlightCall, answer: string): Promise<void> {
    this.#append(responseTo(call, answer));
    try {
      await this.end("ended");
    } catch (error) {
      this.#context.logger.error({ session: this.tag, error }, "a session could not be ended");
    }
  }

  /** [C X-06] The question gets an id that no other upstream of the session can have used. */
  #takeQuestion(stream: number, idJson: string, text: string): void {
    const question = this.#questions.ask(idJson, stream);
    const asked = replaceAt(text, ["id"], question.wireIdJson);
    this.#append({ op: "append", kind: "request", stream, text: asked }, (place) => {
      question.position = place.position;
    });
  }

  #append(op: AppendOp, onDone?: (place: EventPlace) => void): void {
    this.#eventAtMs = this.#context.clock.monotonicMs();
    void this.#commits.add([op], op.text.length).then((outcome) => {
      const place = outcome.kind === "committed" ? outcome.appended[0] : undefined;
      if (place !== undefined) onDone?.(place);
    });
  }

  #cancel(notification: IncomingNotification): void {
    const [span] = locate(notification.text, "params", "requestId").slice(-1);
    if (span === undefined) return;
    const call = this.#calls.newestWithId(notification.text.slice(span.start, span.end));
    // The transport spec forbids to cancel `initialize`; a call that is over needs no cancelling.
    if (call === undefined || call.method === "initialize") return;
    this.#calls.remove(call);
    this.#link.send(splice(notification.text, [{ ...span, insert: String(call.number) }]));
    void this.#commits.add([{ op: "cancel", stream: call.stream, call: call.index }]);
  }

  #onOversized(idJson: string | undefined, bytes: number, bytesMax: number): void {
    this.#context.logger.warn({ session: this.tag, bytes, bytesMax }, "a message was too large");
    const call = this.#calls.get(idJson === undefined ? undefined : Number(idJson));
    if (call === undefined) return;
    this.#calls.remove(call);
    const answer = oversizedAnswer(call, bytes, bytesMax);
    if (call.method === "initialize") void this.#endAtBirth(call, answer);
    else this.#append(responseTo(call, answer));
  }

  /** [C X-05] What the upstream was doing has an unknown outcome; nobody waits for it. */
  #onUpstreamLost(reason: string): void {
    this.#context.logger.warn({ session: this.tag, reason }, "the upstream is gone");
    this.#questions.clear();
    this.#replayed.clear();
    const calls = this.#calls.all();
    for (const call of calls) this.#calls.remove(call);
    for (const call of calls) this.#append(unknownOutcome(call, "upstream-exited"));
    if (this.#data.version === undefined && !this.isOver) {
      this.end("ended").catch((error: unknown) =>
        this.#context.logger.error({ session: this.tag, error }, "a session could not be ended"),
      );
    }
  }

  /** [C S-07] A fresh upstream hears what the first one heard; its answers are swallowed. */
  async #setUp(upstream: Upstream): Promise<void> {
    if (this.#data.version === undefined) return;
    const isRestored = await replaySetup(this.#data, upstream, {
      nextNumber: () => this.#calls.nextNumber(),
      answerOf: (number) =>
        new Promise((resolve) => {
          this.#replayed.set(number, (answer) => {
            this.#replayed.delete(number);
            resolve(answer);
          });
        }),
    });
    if (!isRestored) {
      this.#context.logger.warn({ session: this.tag }, "the upstream refused to be restored");
      await this.end("ended");
    }
  }

  /** Keep what a fresh upstream would have to be told. */
  #record(data: SessionData): void {
    if (data === this.#data) return;
    this.#data = data;
    void this.#commits.add([{ op: "record", data: writeSessionData(data) }]);
  }
}
