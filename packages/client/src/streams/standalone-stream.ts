/** The standalone stream of a session: what the server says without being asked. */
import { ClientError } from "../client-errors.ts";
import type { Connection } from "../connection.ts";
import type { HttpOutcome, HttpRequest } from "../http/exchange.ts";
import { cursorHeader, type Session, sessionHeaders } from "../sessions/session.ts";
import { isBehind, isUnseen, ReplayGuard } from "./cursors.ts";
import { failureOf } from "./failure.ts";
import { newStream } from "./stream-machine.ts";
import { type OwnerAction, type StreamOwner, StreamRunner } from "./stream-runner.ts";

export class StandaloneStream implements StreamOwner {
  readonly lane = "standalone";
  readonly isOneWay = false;
  readonly runner: StreamRunner;
  readonly session: Session;
  readonly #connection: Connection;
  readonly #replay = new ReplayGuard();

  constructor(connection: Connection, session: Session, cursor: string | null) {
    this.#connection = connection;
    this.session = session;
    const facts = { isHarmless: true, isSafe: true, isSafeAcross: false, isBound: true };
    const state = newStream({ lane: "standalone", cursor, ...facts });
    this.runner = new StreamRunner(connection.settings, connection.rules, this, state);
    connection.add(this);
  }

  requestIds(): readonly [] {
    return [];
  }

  isReady(): boolean {
    return true;
  }

  isInSession(): boolean {
    return this.session.sessionId !== null;
  }

  async request(_attempt: "post" | "get", cursor: string | null): Promise<HttpRequest> {
    const at = cursor === null ? {} : cursorHeader(cursor);
    const headers = { accept: "text/event-stream", ...sessionHeaders(this.session), ...at };
    return { method: "GET", headers };
  }

  /** No span is its own: calls have them. */
  cut(): void {}

  resumed(): void {}

  headersMs(): number | null {
    // Some servers send their headers with the first event only, which may be hours away.
    const isQuick = this.runner.state.cursor !== null || this.silenceMsMax() !== null;
    return isQuick ? this.#connection.settings.internals.connectMs : null;
  }

  silenceMsMax(): number | null {
    return this.#connection.silenceMsMax(this.session);
  }

  isLoss(id: string): boolean {
    return this.silenceMsMax() !== null && isUnseen(id, this.runner.state.cursor);
  }

  accepted(): void {}

  died(): void {}

  answer(): void {}

  message(data: string, id: string | undefined): void {
    const isRepeat = this.#replay.isRepeat(id);
    const { key } = this.session;
    const isMove = id !== undefined && !isBehind(id, this.runner.state.cursor);
    const changes = isMove ? [{ change: "setSessionCursor", key, cursor: id } as const] : [];
    const isHandedOn = this.#connection.inbox.text(data, this, isRepeat, changes);
    if (isHandedOn) this.runner.dispatch({ type: "delivered" });
  }

  room(): Promise<void> | undefined {
    return this.#connection.room;
  }

  replaying(): void {
    this.#replay.begin();
  }

  moved(cursor: string | null): void {
    if (cursor !== null && isBehind(cursor, this.runner.state.cursor)) return;
    this.runner.dispatch({ type: "moved", cursor });
    const { key } = this.session;
    this.#connection.writer.after({ change: "setSessionCursor", key, cursor });
  }

  /** From its cursor the same event would come again: the stream goes on without one. */
  tooLarge(): void {
    const { eventCharsMax } = this.#connection.settings.internals;
    const text = `An event of the standalone stream has more than ${eventCharsMax} characters.`;
    this.#connection.app.onError(new ClientError("ERR_EVENT_TOO_LARGE", text));
    this.moved(null);
  }

  act(action: OwnerAction, last: HttpOutcome | undefined): void {
    if (action.do === "gap") this.#connection.tellGap(this, action, last);
    else if (action.do === "report") this.#connection.app.onError(action.error);
    else if (action.do === "tell") {
      // Somebody may be able to log in.
      if (action.what.type === "refused")
        this.#connection.app.onError(failureOf(last, this.#connection.settings.url));
      this.#connection.sessions.hear(this, action.what, last);
    }
  }

  over(): void {
    this.#connection.remove(this);
  }
}
