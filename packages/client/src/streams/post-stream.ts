/**
 * The stream of one POST: of a request, whose answer it brings, or of a message that is only to be
 * accepted. What it is for is its subject's; how it is kept alive is the runner's.
 */
import type { OutcomeUnknownReason, RequestId } from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import type { HttpAnswer, HttpOutcome, HttpRequest } from "../http/exchange.ts";
import type { NetworkFault } from "../http/network-fault.ts";
import type { Refusal } from "../http/refusal.ts";
import { keepsKeys, keysReachAcross } from "../sessions/server-contract.ts";
import { cursorHeader, type Session, sessionHeaders } from "../sessions/session.ts";
import type { CallTrace } from "../telemetry.ts";
import { isBehind, isUnseen, ReplayGuard } from "./cursors.ts";
import { failureOf, unreachable } from "./failure.ts";
import { newStream } from "./stream-machine.ts";
import { type OwnerAction, type StreamOwner, StreamRunner } from "./stream-runner.ts";

/** What a POST is for. */
export interface PostSubject {
  /** JSON. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isOneWay: boolean;
  /** It makes or tries a session: it needs none to be ready. */
  readonly isSetup: boolean;
  /** The application waits for it to begin at all: it is told early what is wrong. */
  readonly isStart: boolean;
  /** False: its stream is never resumed. */
  readonly isResumable: boolean;
  readonly isHarmless: boolean;
  readonly isSafe: boolean;
  readonly isSafeAcross: boolean;
  readonly isBound: boolean;
  /** It carries an idempotency key. */
  readonly isKeyed: boolean;
  /** Of a call; null for a message that has no answer. */
  readonly wireId: number | null;
  /** Of a call that somebody records. */
  readonly trace?: CallTrace | undefined;
  readonly cursor: string | null;
  readonly isTold: boolean;
  /** Durable before its first byte leaves [C K-03]. */
  prepare(session: Session): Promise<void>;
  accepted(answer: HttpAnswer): void;
  moved(cursor: string | null): void;
  /** Kept: the stream goes on; what still comes is news. Failure: of the newest attempt. */
  unknown(reason: OutcomeUnknownReason, isKept: boolean, failure: Error): void;
  /** It did not run, and will not; refusal: what was answered, if anything was. */
  failed(error: Error, refusal: Refusal | null): void;
  tooLarge(charsMax: number): void;
  /** Of the application, that wait on this stream. */
  requestIds(): readonly RequestId[];
  over(): void;
}

export class PostStream implements StreamOwner {
  readonly lane = "call";
  readonly isOneWay: boolean;
  readonly runner: StreamRunner;
  readonly #connection: Connection;
  readonly #subject: PostSubject;
  readonly #replay = new ReplayGuard();
  /** The first attempt that died was told; the others are like it. */
  #hasReported = false;
  session: Session;

  constructor(connection: Connection, session: Session, subject: PostSubject) {
    this.#connection = connection;
    this.#subject = subject;
    this.session = session;
    this.isOneWay = subject.isOneWay;
    const { isTold } = subject;
    const state = { ...newStream({ ...subject, lane: "call" }), isTold };
    const rules = subject.isStart ? connection.startRules : connection.rules;
    this.runner = new StreamRunner(connection.settings, rules, this, state);
    connection.add(this);
  }

  get wireId(): number | null {
    return this.#subject.wireId;
  }

  /** It has a meaning in its own session alone. */
  get isBound(): boolean {
    return this.#subject.isBound;
  }

  requestIds(): readonly RequestId[] {
    return this.#subject.requestIds();
  }

  /** [C K-09] A key protects a repetition where the server keeps keys: this one, if it ran before. */
  isSafeIn({ capability }: Session): boolean {
    const { isHarmless, isKeyed } = this.#subject;
    const isKept = isKeyed && keepsKeys(capability, this.#connection.settings.worstCaseMs);
    const isKnown = !this.runner.state.mayHaveRun || keysReachAcross(capability);
    return isHarmless || (isKept && isKnown);
  }

  isReady(): boolean {
    return this.#subject.isSetup || this.session.standing !== "over";
  }

  isInSession(): boolean {
    return this.session.sessionId !== null && this.#subject.isResumable;
  }

  async request(attempt: "post" | "get", cursor: string | null): Promise<HttpRequest> {
    if (attempt === "get") {
      const accept = { accept: "text/event-stream" };
      const names = { ...sessionHeaders(this.session), ...cursorHeader(cursor ?? "") };
      return { method: "GET", headers: { ...accept, ...names } };
    }
    await this.#subject.prepare(this.session);
    const headers = {
      ...this.#subject.headers,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...sessionHeaders(this.session),
    };
    return { method: "POST", headers, body: this.#subject.body };
  }

  headersMs(attempt: "post" | "get"): number | null {
    // [C E-05] a server of this contract begins its answer before the handler runs.
    return attempt === "post" ? this.silenceMsMax() : this.#connection.settings.internals.connectMs;
  }

  silenceMsMax(): number | null {
    return this.#connection.silenceMsMax(this.session);
  }

  isLoss(id: string): boolean {
    return this.silenceMsMax() !== null && isUnseen(id, this.runner.state.cursor);
  }

  cut(by: string): void {
    this.#subject.trace?.cut(by);
  }

  resumed(afterMs: number): void {
    this.#subject.trace?.resumed(afterMs);
  }

  accepted(answer: HttpAnswer): void {
    this.#subject.accepted(answer);
    if (this.isOneWay) this.runner.dispatch({ type: "settled" });
  }

  died(fault: NetworkFault): void {
    if (!this.#subject.isStart || this.#hasReported) return;
    this.#hasReported = true;
    const { settings, app } = this.#connection;
    app.onError(unreachable(fault, settings.url, " It is tried again."));
  }

  message(data: string, id: string | undefined): void {
    const isRepeat = this.#replay.isRepeat(id);
    const { wireId } = this;
    const isMove = id !== undefined && wireId !== null && this.#isMove(id);
    const changes = isMove ? [{ change: "setCallCursor", wireId, cursor: id } as const] : [];
    const isHandedOn = this.#connection.inbox.text(data, this, isRepeat, changes);
    if (isHandedOn) this.runner.dispatch({ type: "delivered" });
  }

  answer(text: string): void {
    this.#connection.inbox.text(text, this, false);
  }

  room(): Promise<void> | undefined {
    return this.#connection.room;
  }

  replaying(): void {
    this.#replay.begin();
  }

  moved(cursor: string | null): void {
    if (!this.#isMove(cursor)) return;
    this.runner.dispatch({ type: "moved", cursor });
    this.#subject.moved(cursor);
  }

  #isMove(cursor: string | null): boolean {
    const isBack = cursor !== null && isBehind(cursor, this.runner.state.cursor);
    return this.#subject.isResumable && !isBack;
  }

  tooLarge(): void {
    this.#subject.tooLarge(this.#connection.settings.internals.eventCharsMax);
    this.runner.dispatch({ type: "settled" });
  }

  act(action: OwnerAction, last: HttpOutcome | undefined): void {
    switch (action.do) {
      case "endUnknown":
        return this.#endUnknown(action.reason, last);
      case "fail":
        return this.#subject.failed(
          this.#failure(last),
          last?.kind === "refused" ? last.refusal : null,
        );
      case "gap":
        return this.#connection.tellGap(this, action, last);
      case "report":
        return this.#connection.app.onError(action.error);
      case "tell":
        // Somebody may be able to log in.
        if (action.what.type === "refused") this.#connection.app.onError(this.#failure(last));
        return this.#connection.sessions.hear(this, action.what, last);
    }
  }

  #endUnknown(reason: OutcomeUnknownReason, last: HttpOutcome | undefined): void {
    const { isTold } = this.runner.state;
    // The stream that goes on has told it with its news.
    if (reason === "authorization" && !isTold) this.#connection.app.onError(this.#failure(last));
    this.#subject.unknown(reason, isTold, this.#failure(last));
  }

  #failure(last: HttpOutcome | undefined): Error {
    return failureOf(last, this.#connection.settings.url);
  }

  over(): void {
    this.#connection.remove(this);
    this.#subject.over();
    this.#connection.sessions.book.left(this.session);
  }
}
