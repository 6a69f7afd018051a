/**
 * Runs the session: does what its machine says, and tells the machine what happened. How a session
 * is had, checked and renewed is in session-setup.ts.
 */
import type { JsonObject } from "@holdfast/contract";
import { isSameJson } from "../calls/identical.ts";
import type { Written } from "../calls/new-call.ts";
import { ClientError } from "../client-errors.ts";
import type { Connection, Stream } from "../connection.ts";
import type { HttpOutcome } from "../http/exchange.ts";
import type { StoredState } from "../state/client-state.ts";
import type { PostStream } from "../streams/post-stream.ts";
import { StandaloneStream } from "../streams/standalone-stream.ts";
import type { StreamNews } from "../streams/stream-machine.ts";
import type { Session } from "./session.ts";
import { SessionBook } from "./session-book.ts";
import {
  noSession,
  type ParkReason,
  type SessionAction,
  type SessionEvent,
  type SessionState,
} from "./session-machine.ts";
import { SessionSetup } from "./session-setup.ts";
import { isQueued, queueOf, streamsOf, tellStreams } from "./session-streams.ts";
import { stepSession } from "./session-table.ts";
import { deleteSession, pingOnce } from "./single-exchange.ts";

/** A request can go out at once. */
const readyPlaces: ReadonlySet<SessionState["at"]> = new Set(["none", "open"]);

/** New requests go elsewhere. */
const leftStandings: ReadonlySet<Session["standing"]> = new Set(["draining", "over"]);

export class SessionRunner {
  /** The application has said that it is initialized: it listens. */
  isListening = false;
  readonly book: SessionBook;
  readonly #connection: Connection;
  readonly #setup: SessionSetup;
  readonly #cursors: ReadonlyMap<number, string>;
  #state: SessionState = noSession;
  readonly #events: SessionEvent[] = [];
  #isStepping = false;
  #cancelProbe = () => {};
  /** Until the transport is closed. */
  readonly #life = new AbortController();
  /** Why the session is gone, in the server's word. */
  #goneReason: string | null = null;
  /** Of earlier processes, until the application initializes. */
  #restored: readonly Session[];
  readonly #storedKey: number | null;

  constructor(connection: Connection, restored: readonly Session[], stored: StoredState) {
    this.#connection = connection;
    this.#setup = new SessionSetup(connection, this);
    this.#cursors = stored.cursors;
    this.#restored = restored;
    this.#storedKey = stored.currentSession;
    this.book = new SessionBook(connection);
  }

  get current(): Session {
    return this.book.current;
  }

  get place(): SessionState["at"] {
    return this.#state.at;
  }

  /** The id, once the application may know that there is a session. */
  get sessionId(): string | undefined {
    const isKnown = this.current.standing === "current";
    return isKnown ? (this.current.sessionId ?? undefined) : undefined;
  }

  dispatch(event: SessionEvent): void {
    this.#events.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const { state, actions } = stepSession(this.#state, next);
        this.#state = state;
        for (const action of actions) this.#perform(action);
      }
    } finally {
      this.#isStepping = false;
    }
  }

  /** The application initializes; resolves when it has its answer. */
  initialize(id: string | number, written: Written): Promise<void> {
    const params = Object(written.message.params) as JsonObject;
    const sent = this.#setup.ask(id, written);
    const restored = this.#restored;
    this.#restored = [];
    // Where the server names no sessions there is none to come back to.
    const stored = restored.find(
      ({ key, sessionId }) => key === this.#storedKey && sessionId !== null,
    );
    const known = stored !== undefined && isSameJson(stored.params, params) ? stored : undefined;
    if (known !== undefined) this.book.current = known;
    // [C K-10] the application is another one now: a session of its own, the old ones are drained.
    for (const session of restored) if (session !== known) this.book.drain(session);
    const isKnown = known !== undefined;
    this.dispatch({ type: "initialize", isKnown });
    return sent;
  }

  /** The application has its answer to initialize, and says so. */
  initialized(written: Written): Promise<void> {
    return this.#setup.initialized(written);
  }

  /** The application ends the session [C S-08]. */
  async terminate(): Promise<void> {
    if (this.sessionId === undefined) return;
    await deleteSession(this.#connection.settings, this.current);
    this.dispatch({ type: "terminated" });
    this.#connection.writer.flush();
  }

  /** Begin a POST, or let it wait for a session. */
  begin(stream: PostStream): void {
    // Nothing new goes into a drained session: answers and cancellations alone.
    const isDraining = stream.session.standing === "draining";
    const isReady = isDraining
      ? stream.isBound
      : readyPlaces.has(this.#state.at) || this.#isParkedInSession();
    stream.runner.dispatch({ type: isReady ? "start" : "queue", attempt: "post" });
  }

  /** The streams that wait for a session go out in the one that there is now. */
  releaseQueue(): void {
    for (const stream of queueOf(this.#connection)) this.#release(stream);
  }

  /** Show what the server says unasked, if it is not shown already. */
  listen(): void {
    const { key, standing } = this.current;
    const isShown = streamsOf(this.#connection, this.current).some(
      ({ lane }) => lane === "standalone",
    );
    if (isShown || standing !== "current") return;
    const cursor = this.#cursors.get(key) ?? null;
    const stream = new StandaloneStream(this.#connection, this.current, cursor);
    stream.runner.dispatch({ type: "start", attempt: "get" });
  }

  /** What a stream has found out that concerns its session. */
  hear(stream: Stream, news: StreamNews, last: HttpOutcome | undefined): void {
    const { session } = stream;
    if (news.type === "awaited") return stream.lane === "call" ? this.#release(stream) : undefined;
    if (session.standing === "draining") this.#hearDraining(session, news);
    if (session !== this.current || leftStandings.has(session.standing)) {
      // [C K-07] another session took its place while the answer was on its way.
      if (stream.lane === "call" && isQueued(stream)) this.#release(stream);
      return;
    }
    if (news.type === "gone") {
      this.#goneReason = last?.kind === "refused" ? last.refusal.reason : null;
    }
    if (news.type !== "spent" && news.type !== "refused") return this.dispatch(news);
    const isAlive = streamsOf(this.#connection, session).some(
      ({ runner }) => runner.state.at === "reading",
    );
    this.dispatch({ type: news.type, isAlive });
  }

  #hearDraining(session: Session, { type }: StreamNews): void {
    if (type !== "gone" && type !== "ending") return;
    const reason = type === "gone" ? "session-gone" : "session-ended";
    this.book.discard(session, reason, false);
  }

  #perform(action: SessionAction): void {
    switch (action.do) {
      case "establish":
        return this.#setup.establish();
      case "check":
        return this.#setup.check();
      case "adopt":
        return this.#setup.adopt();
      case "renew":
        return this.#setup.renew();
      case "restore":
        return this.#setup.restore();
      case "endStreams":
        return this.book.discard(this.current, action.reason, action.mayRepeat);
      case "tellEnded": {
        const { sessionId } = this.current;
        const reason = action.reason ?? this.#goneReason;
        this.#connection.app.onSessionEnded({ sessionId, reason });
        return;
      }
      case "park":
        return this.#park(action.why, action.isNews);
      case "failQueue":
        tellStreams(queueOf(this.#connection), { type: "park" });
        return this.book.clear();
      case "resume":
        return this.#resume();
      case "probe":
        return this.#probe();
      case "probeLater":
        return this.#probeLater();
      case "stop":
        return this.#stop();
    }
  }

  /** Calls stay in the state; who waits for `send` waits for nothing more. */
  #stop(): void {
    this.#cancelProbe();
    this.#life.abort();
    const { streams, ledger } = this.#connection;
    tellStreams([...streams], { type: "stop" });
    const error = new ClientError("ERR_CLIENT_CLOSED", "The transport was closed.");
    for (const { sent } of ledger.all()) sent.reject(error);
    this.#setup.abandon(error);
  }

  #park(why: ParkReason, isNews: boolean): void {
    for (const { runner, session } of [...this.#connection.streams]) {
      if (session.standing !== "draining") runner.dispatch({ type: "park" });
    }
    const { probeMs: nextProbeMs } = this.#connection.settings.internals;
    const { sessionId } = this.current;
    if (isNews) this.#connection.app.onParked({ why, sessionId, nextProbeMs });
  }

  #resume(): void {
    this.#connection.app.onResumed();
    const streams = streamsOf(this.#connection, this.current);
    const held = streams.filter(({ runner }) => runner.state.at === "held");
    tellStreams(held, { type: "release" });
  }

  #probe(): void {
    const held = streamsOf(this.#connection, this.current).filter(
      ({ lane, runner }) => lane === "standalone" && runner.state.at === "held",
    );
    tellStreams(held, { type: "release" });
    if (held.length === 0 && this.#state.at === "parked") void this.#ping();
  }

  async #ping(): Promise<void> {
    const { current } = this;
    const { settings, ids } = this.#connection;
    const type = await pingOnce(settings, current, ids.next(), this.#life.signal);
    if (type !== "unknown" && current === this.current) this.dispatch({ type });
  }

  #probeLater(): void {
    this.#cancelProbe();
    const { setTimer, probeMs } = this.#connection.settings.internals;
    this.#cancelProbe = setTimer(() => this.dispatch({ type: "probeDue" }), probeMs);
  }

  #release(stream: PostStream): void {
    if (this.#state.at !== "open") return this.dispatch({ type: "demand" });
    stream.session = this.current;
    stream.runner.dispatch({ type: "release", isSafe: stream.isSafeIn(this.current) });
  }

  #isParkedInSession(): boolean {
    return this.#state.at === "parked" && this.#state.hasSession;
  }
}
