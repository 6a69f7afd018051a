/** Which session is current, which are drained, which are over; and the same in the state. */
import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { Connection } from "../connection.ts";
import { freshSession, type Session, storedOf } from "./session.ts";
import { resumeCalls, streamsOf, tellStreams } from "./session-streams.ts";

export class SessionBook {
  /** Where new requests go; over, while there is none. */
  current: Session;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.current = this.#blank();
  }

  /** A session stands: requests go there from now on. */
  take(session: Session): void {
    const { writer, settings } = this.#connection;
    if (this.current !== session && this.current.standing === "current") this.drain(this.current);
    session.standing = "current";
    this.current = session;
    writer.after({ change: "putSession", session: storedOf(session, settings.url) });
    writer.after({ change: "setCurrent", key: session.key });
    // [C K-03] durable before anybody relies on it.
    writer.flush();
  }

  /** Nothing new goes there; what is under way is brought to its end [C K-10]. */
  drain(session: Session): void {
    session.standing = "draining";
    const standalone = streamsOf(this.#connection, session).filter(
      ({ lane }) => lane === "standalone",
    );
    tellStreams(standalone, { type: "stop" });
    resumeCalls(this.#connection, session);
    this.left(session);
  }

  /** A stream of the session is over: a drained one may be forgotten. */
  left(session: Session): void {
    if (session.standing !== "draining") return;
    if (streamsOf(this.#connection, session).length === 0) this.#forget(session);
  }

  /** [C K-07] the id is discarded first: no cursor of it is ever sent again. */
  discard(session: Session, reason: OutcomeUnknownReason, mayRepeat: boolean): void {
    this.#forget(session);
    if (session === this.current) {
      this.#connection.writer.after({ change: "setCurrent", key: null });
    }
    const event = { type: "sessionOver", reason, mayRepeat } as const;
    tellStreams(streamsOf(this.#connection, session), event);
  }

  /** There is no session, and none to come. */
  clear(): void {
    this.current = this.#blank();
  }

  #forget(session: Session): void {
    session.standing = "over";
    this.#connection.writer.after({ change: "dropSession", key: session.key });
  }

  #blank(): Session {
    return freshSession(this.#connection.ids.next(), {});
  }
}
