/**
 * How a session is had: by the application's own initialize, by asking whether the stored one still
 * lives, or by initializing again in the application's place. What follows is the session machine's.
 */
import type { JsonObject, RequestId } from "@holdfast/contract";
import type { Call } from "../calls/ledger.ts";
import { appCall, internalCall, type Written } from "../calls/new-call.ts";
import type { CallEnd } from "../calls/outcomes.ts";
import { ClientError, HttpStatusError } from "../client-errors.ts";
import type { Connection } from "../connection.ts";
import { PostStream } from "../streams/post-stream.ts";
import { callSubject, oneWaySubject } from "../streams/subjects.ts";
import { checkContract } from "./contract-check.ts";
import { readCapability } from "./server-contract.ts";
import { freshSession, type Session } from "./session.ts";
import type { SessionEvent } from "./session-machine.ts";
import type { SessionRunner } from "./session-runner.ts";
import { resumeCalls } from "./session-streams.ts";
import { deleteSession } from "./single-exchange.ts";

/** The application's initialize, until it is answered. */
interface Asked {
  readonly id: RequestId;
  readonly written: Written;
  readonly sent: PromiseWithResolvers<void>;
}

export class SessionSetup {
  readonly #connection: Connection;
  readonly #runner: SessionRunner;
  #asked: Asked | undefined;
  /** The session was initialized before this process was there. */
  #isAdopted = false;

  constructor(connection: Connection, runner: SessionRunner) {
    this.#connection = connection;
    this.#runner = runner;
  }

  ask(id: RequestId, written: Written): Promise<void> {
    const sent = Promise.withResolvers<void>();
    this.#asked = { id, written, sent };
    return sent.promise;
  }

  /** The application's initialize goes out; what was before is only brought to its end. */
  establish(): void {
    const asked = this.#take();
    if (asked === undefined) return;
    this.#isAdopted = false;
    const { current } = this.#runner;
    if (current.standing !== "over") this.#runner.book.drain(current);
    const params = Object(asked.written.message.params) as JsonObject;
    const session = freshSession(this.#connection.ids.next(), params);
    const call = appCall(this.#connection, asked.id, asked.written, null, (end, handOn) =>
      this.#established(session, end, handOn),
    );
    call.sent.promise.then(asked.sent.resolve, asked.sent.reject);
    this.#post(session, call);
  }

  /** [C K-10] Does the stored session live? A ping asks every server the same. */
  check(): void {
    const call = internalCall(this.#connection, "ping", {}, (end) => {
      // Its stream may have told more, and sooner.
      if (this.#runner.place !== "checking") return;
      const verdict = verdictOf(end);
      this.#runner.dispatch(verdict);
      if (verdict.type === "failed") this.#take()?.sent.reject(errorOf(end));
    });
    this.#post(this.#runner.current, call);
  }

  /** The stored session lives: the application is answered from what is stored. */
  adopt(): void {
    const asked = this.#take();
    const { current } = this.#runner;
    this.#isAdopted = true;
    this.#runner.book.take(current);
    resumeCalls(this.#connection, current);
    const broken = checkContract(this.#connection, current, null);
    if (asked === undefined) return;
    if (broken !== undefined) return asked.sent.reject(broken);
    const { id } = asked;
    this.#connection.handOn({ jsonrpc: "2.0", id, result: current.result });
    asked.sent.resolve();
    this.#runner.releaseQueue();
  }

  /** [C K-07] with the parameters of the session that is gone. */
  renew(): void {
    const before = this.#runner.current;
    const session = freshSession(this.#connection.ids.next(), before.params);
    session.setup = before.setup;
    const failed = (end: CallEnd) => {
      // The application may have initialized by itself meanwhile.
      if (this.#runner.place !== "renewing") return;
      this.#connection.app.onError(errorOf(end));
      this.#runner.dispatch({ type: "failed", why: whyOf(end) });
    };
    const call = internalCall(this.#connection, "initialize", before.params, (end) => {
      if (end.kind !== "result") return failed(end);
      fill(session, end.result);
      const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
      this.#send({ message: initialized }, session, true).then(
        () => this.#renewed(session, before),
        (error: Error) => failed({ kind: "refused", error }),
      );
    });
    this.#post(session, call);
  }

  /** What was set before is set again, then what waits goes out [C K-07]. */
  restore(): void {
    const { current } = this.#runner;
    const { logLevel, subscriptions } = current.setup;
    if (logLevel !== null) this.#set(current, "logging/setLevel", logLevel);
    for (const uri of subscriptions) this.#set(current, "resources/subscribe", { uri });
    this.#runner.releaseQueue();
    if (this.#runner.isListening) this.#runner.listen();
  }

  /** The application's `notifications/initialized`. */
  async initialized(written: Written): Promise<void> {
    // The stored session had its own, long ago.
    if (!this.#isAdopted) await this.#send(written, this.#runner.current, false);
    this.#runner.isListening = true;
    this.#runner.listen();
  }

  /** The application's initialize will not be answered. */
  abandon(error: Error): void {
    this.#take()?.sent.reject(error);
  }

  #take(): Asked | undefined {
    const asked = this.#asked;
    this.#asked = undefined;
    return asked;
  }

  #established(session: Session, end: CallEnd, handOn: (end: CallEnd) => void): void {
    const broken = end.kind === "result" ? this.#filled(session, end.result) : undefined;
    if (end.kind !== "result" || broken !== undefined) {
      handOn(broken === undefined ? end : { kind: "refused", error: broken });
      return this.#runner.dispatch({ type: "failed", why: "unreachable" });
    }
    this.#runner.book.take(session);
    this.#runner.dispatch({ type: "established" });
    handOn(end);
    this.#runner.releaseQueue();
  }

  #filled(session: Session, result: unknown): ClientError | undefined {
    fill(session, result);
    const broken = checkContract(this.#connection, session, null);
    // Nobody will use it; should that fail, it expires by itself.
    if (broken !== undefined) deleteSession(this.#connection.settings, session).catch(() => {});
    return broken;
  }

  #renewed(session: Session, before: Session): void {
    if (this.#runner.place !== "renewing") return;
    this.#runner.book.take(session);
    const broken = checkContract(this.#connection, session, before.result);
    if (broken !== undefined) this.#connection.app.onError(broken);
    this.#runner.dispatch({ type: "established" });
  }

  #set(session: Session, method: string, params: JsonObject): void {
    this.#post(
      session,
      internalCall(this.#connection, method, params, (end) => {
        if (end.kind !== "result") this.#connection.app.onError(errorOf(end));
      }),
    );
  }

  #send(written: Written, session: Session, isSetup: boolean): Promise<void> {
    const done = Promise.withResolvers<void>();
    const subject = oneWaySubject(written, { isBound: true, isSetup }, done);
    const stream = new PostStream(this.#connection, session, subject);
    stream.runner.dispatch({ type: "start", attempt: "post" });
    return done.promise;
  }

  #post(session: Session, call: Call): void {
    const onAccepted = ({ sessionId }: { readonly sessionId: string | null }) => {
      if (call.stored.method === "initialize") session.sessionId = sessionId;
    };
    const subject = callSubject(this.#connection, call, { cursor: null, onAccepted });
    const stream = new PostStream(this.#connection, session, subject);
    stream.runner.dispatch({ type: "start", attempt: "post" });
  }
}

function fill(session: Session, result: unknown): void {
  session.result = Object(result) as JsonObject;
  const { protocolVersion } = session.result;
  session.version = typeof protocolVersion === "string" ? protocolVersion : null;
  session.capability = readCapability(session.result);
}

/** What the end of a ping says of the session. */
function verdictOf(end: CallEnd): SessionEvent {
  // Any answer of the session's, be it that it knows no ping, shows that it lives.
  if (end.kind === "result" || end.kind === "error") return { type: "confirmed" };
  const status = end.kind === "refused" && end.error instanceof HttpStatusError && end.error.status;
  if (status === 404) return { type: "gone" };
  const isForCaller = status === 401 || status === 403 || status === false;
  const isRefused = end.kind === "unknown" && end.reason === "stream-refused";
  if (isRefused || !isForCaller) return { type: "unconfirmed" };
  return { type: "failed", why: whyOf(end) };
}

function whyOf(end: CallEnd): "unreachable" | "authorization" {
  return end.kind === "unknown" && end.reason === "authorization" ? "authorization" : "unreachable";
}

/** An end without a result, as an error. */
function errorOf(end: CallEnd): Error {
  if (end.kind === "refused") return end.error;
  if (end.kind === "unknown" && end.failure !== undefined) return end.failure;
  const why = end.kind === "error" ? end.error.message : end.kind;
  return new ClientError("ERR_NOT_RUN", `The server could not be had: ${why}.`);
}
