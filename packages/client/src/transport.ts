/**
 * The transport as an SDK client knows it, of v1 and of v2 alike: start, send, close and three
 * callbacks. Everything else is in the connection, which lives from start to close.
 */

import type { RequestId } from "@holdfast/contract";
import type { RecoveredCall } from "./calls/recovered.ts";
import { ClientError } from "./client-errors.ts";
import { type Came, Connection } from "./connection.ts";
import { type ResumableClientOptions, type Settings, settle } from "./options.ts";
import { type SendOptions, sendMessage } from "./outbox.ts";
import type { StreamPlace } from "./streams/stream-machine.ts";

/** A call of this process that has not ended. */
export interface PendingCall {
  /** The application's. */
  readonly id: RequestId;
  readonly method: string;
  /** Of the tool, prompt or resource. */
  readonly name?: string;
  readonly startedAtMs: number;
  /** `reading`: its stream is open; `waiting`: it is resumed by and by; `held`: it is not now. */
  readonly at: StreamPlace;
}

/**
 * A client transport that keeps sessions over disconnects, and its place in them over the death of
 * its process [C K-01…K-15].
 *
 *     const transport = new ResumableClientTransport(url, { state: fileState("./agent-session") });
 *     await client.connect(transport);
 */
export class ResumableClientTransport {
  onmessage: ((message: object) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  readonly #settings: Settings;
  #connection: Connection | undefined;

  /**
   * @param url - of the MCP endpoint
   * @throws TypeError for an address or a policy that is none, ClientError `ERR_CLIENT_OPTION`
   */
  constructor(url: string | URL, options: ResumableClientOptions = {}) {
    this.#settings = settle(url, options);
  }

  /** Undefined until `initialize` was answered: SDK clients leave it out where there is one. */
  get sessionId(): string | undefined {
    return this.#connection?.sessions.sessionId;
  }

  /**
   * Take the state, and with it the calls of earlier processes.
   *
   * @throws ClientError `ERR_STATE_LOCKED`, `ERR_STATE_CORRUPT`, `ERR_STATE_NEWER`,
   * `ERR_STATE_UNAVAILABLE`, `ERR_CLIENT_CLOSED` for a second start
   */
  async start(): Promise<void> {
    if (this.#connection !== undefined) {
      throw new ClientError("ERR_CLIENT_CLOSED", "The transport was started before.", {
        hint: "`connect` starts it by itself.",
      });
    }
    const { app, telemetry } = this.#settings;
    this.#connection = new Connection(this.#settings, {
      handOn: (message, came) => this.#handOn(message, came),
      onError: (error) => this.#report(error),
      onGap: (gap) => {
        telemetry.gap();
        this.#guard(() => app.onGap?.(gap));
      },
      onUnknownOutcome: (outcome, response) => {
        telemetry.unknownOutcome(outcome.reason);
        if (app.onText === undefined) this.#guard(() => this.onmessage?.(response));
        this.#guard(() => app.onUnknownOutcome?.(outcome));
      },
      onSessionEnded: (ended) => {
        telemetry.sessionEnded();
        this.#guard(() => app.onSessionEnded?.(ended));
      },
      onParked: (parked) => {
        telemetry.parked();
        this.#guard(() => app.onParked?.(parked));
      },
      onResumed: () => this.#guard(() => app.onResumed?.()),
      onContract: (report) => this.#guard(() => app.onContract?.(report)),
    });
  }

  /**
   * Send a message; a request is durable before its first byte leaves [C K-03].
   *
   * @returns resolves when the server has begun to answer, or the call has ended
   * @throws HttpStatusError for a refusal, ClientError `ERR_NOT_RUN`, `ERR_STATE_UNAVAILABLE`;
   * a call whose outcome is unknown does not throw: it is answered by error -32011
   */
  async send(message: object, options: SendOptions = {}): Promise<void> {
    await sendMessage(this.#open(), message, options);
  }

  /** Let go of everything; session, cursors and calls in flight stay in the state. */
  async close(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || connection.sessions.place === "closed") return;
    connection.sessions.dispatch({ type: "close" });
    connection.writer.close();
    this.#settings.state.close();
    this.onclose?.();
  }

  /**
   * End the session at the server [C S-08] and forget it.
   *
   * @throws HttpStatusError, ClientError `ERR_NOT_RUN` when the server could not be asked
   */
  async terminateSession(): Promise<void> {
    await this.#open().sessions.terminate();
  }

  /** The SDKs report what was negotiated; it is known from the answer itself. */
  setProtocolVersion(_version: string): void {}

  /** Calls whose outcome nobody has got: of an earlier process, or answered after all [C K-10]. */
  async recovered(): Promise<RecoveredCall[]> {
    return this.#open().recovered.list();
  }

  /** Calls of this process that have not ended. */
  pending(): PendingCall[] {
    const connection = this.#open();
    return connection.ledger.all().flatMap(({ wireId, caller, stored }): PendingCall[] => {
      if (caller.kind !== "app") return [];
      const { method, name, startedAtMs } = stored;
      const at = connection.streamOf(wireId)?.runner.state.at ?? "over";
      return [{ id: caller.id, method, ...(name === null ? {} : { name }), startedAtMs, at }];
    });
  }

  #open(): Connection {
    const connection = this.#connection;
    if (connection !== undefined && connection.sessions.place !== "closed") return connection;
    throw new ClientError("ERR_CLIENT_CLOSED", "The transport is not open.");
  }

  #handOn(message: object, came: Came | undefined): Promise<void> | undefined {
    const { onText } = this.#settings.app;
    if (onText === undefined) {
      this.#guard(() => this.onmessage?.(message));
      return undefined;
    }
    let room: Promise<void> | undefined;
    const text = came?.text() ?? JSON.stringify(message);
    const [related] = came?.stream.requestIds() ?? [];
    this.#guard(() => {
      room = onText({ text, related, changes: came?.changes ?? [] });
    });
    return room;
  }

  /** What the application throws is its own affair: the stream goes on. */
  #guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#report(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #report(error: Error): void {
    try {
      this.onerror?.(error);
    } catch {
      // Nobody is left to be told.
    }
  }
}
