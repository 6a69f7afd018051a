/**
 * An upstream that is a Streamable HTTP server: one session there for each session here, kept over
 * disconnects, and over restarts of this process, by the machine of `@holdfast/client`. Text both
 * ways; what a cut, a 404 or a restart of the server means is decided there, and told here.
 */
import {
  type Arrival,
  ClientError,
  type Gap,
  HttpStatusError,
  ResumableClientTransport,
} from "@holdfast/client";
import { errorCodes, errorMessageText, parseMessage } from "@holdfast/contract";
import type {
  ForwardedHeaders,
  Upstream,
  UpstreamEnd,
  UpstreamEvents,
  UpstreamFactory,
  UpstreamSession,
} from "@holdfast/server";
import type { Logger } from "pino";
import { type KeptState, keptState } from "./kept-state.ts";

export interface HttpUpstreamSettings {
  /** Of the MCP endpoint. */
  readonly url: URL;
  /** Sent with every request; they win over those of clients. */
  readonly headers: ForwardedHeaders;
  /** Largest message that is taken from the server, characters. */
  readonly eventBytesMax: number;
  readonly logger: Logger;
}

/** The end of a session is told to the server within this, or left to the server. */
const endMs = 5_000;

export function httpUpstreams(settings: HttpUpstreamSettings): UpstreamFactory {
  return {
    outlivesProcess: true,
    start: async (session, events) => {
      const state = keptState(session.kept, session.keep);
      await state.ready();
      const logger = settings.logger.child({ session: session.tag });
      const upstream = new HttpUpstream({ ...settings, logger }, session, events, state);
      await upstream.open();
      return upstream;
    },
    discard: ({ kept, headers }) => {
      const session = kept === undefined ? undefined : keptState(kept, async () => {}).session;
      if (typeof session?.sessionId !== "string") return;
      const named = { "mcp-session-id": session.sessionId };
      const version = session.version === null ? {} : { "mcp-protocol-version": session.version };
      fetch(settings.url, {
        method: "DELETE",
        headers: { ...headers(), ...settings.headers, ...named, ...version },
        redirect: "manual",
        signal: AbortSignal.timeout(endMs),
      }).then(
        (response) => response.body?.cancel(),
        (error: Error) => settings.logger.debug({ why: error.name }, "no session was ended there"),
      );
    },
  };
}

class HttpUpstream implements Upstream {
  readonly #settings: HttpUpstreamSettings;
  readonly #events: UpstreamEvents;
  readonly #state: KeptState;
  readonly #transport: ResumableClientTransport;
  /** There was a session before this start: initialize goes on with it. */
  readonly #isRestored: boolean;
  #isOver = false;
  #closed: Promise<void> | undefined;

  constructor(
    settings: HttpUpstreamSettings,
    session: UpstreamSession,
    events: UpstreamEvents,
    state: KeptState,
  ) {
    const { url, headers, eventBytesMax, logger } = settings;
    this.#settings = settings;
    this.#events = events;
    this.#state = state;
    this.#isRestored = state.session !== undefined;
    this.#transport = new ResumableClientTransport(url, {
      state,
      // The session's own calls, under the numbers that it gave them.
      reattach: "by-id",
      headers: () => ({ ...session.headers(), ...headers }),
      onText: (arrival) => this.#hear(arrival),
      onUnknownOutcome: ({ requestId, reason }) => {
        if (typeof requestId === "number") events.onUnknown(requestId, reason);
      },
      onGap: (gap) => this.#tellGap(gap),
      onSessionEnded: ({ reason }) =>
        logger.warn({ reason }, "the server has ended its session; another one takes its place"),
      onParked: ({ why }) => logger.warn({ why }, "the server cannot be had; it is tried again"),
      onResumed: () => logger.info({}, "the server can be had again"),
      internals: { eventCharsMax: eventBytesMax },
    });
    this.#transport.onerror = (error) =>
      logger.warn(factsOf(error), "something went wrong with the server");
  }

  open(): Promise<void> {
    return this.#transport.start();
  }

  holds(number: number): boolean {
    return this.#transport.pending().some(({ id }) => id === number);
  }

  async send(text: string, forwarded: ForwardedHeaders = {}): Promise<void> {
    const value = JSON.parse(text) as object;
    const message = parseMessage(value);
    const headers = { ...forwarded, ...this.#settings.headers };
    const sent = this.#transport.send(value, { text, headers });
    if (message.kind === "request") {
      // [spec] The answer of a POST may begin with its result: nothing waits for that.
      sent.catch((error: Error) => this.#refuse(message.id, message.method, error));
      return;
    }
    const noted = sent.catch((error: Error) => this.#logLost(error));
    // Some servers take no request before this.
    const isSetup =
      message.kind === "notification" && message.method === "notifications/initialized";
    if (isSetup) await noted;
  }

  close(end: UpstreamEnd = "over"): Promise<void> {
    this.#isOver = true;
    this.#closed ??= this.#close(end);
    return this.#closed;
  }

  async #close(end: UpstreamEnd): Promise<void> {
    if (end === "over") await this.#terminate();
    await this.#transport.close();
  }

  async #terminate(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, endMs);
    });
    const ended = this.#transport.terminateSession().catch((error: Error) => this.#logLost(error));
    await Promise.race([ended, late]);
    clearTimeout(timer);
  }

  #hear({ text, related, changes }: Arrival): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const kept = changes.length === 0 ? undefined : this.#state.change(changes);
    return this.#events.onMessage(text, typeof related === "number" ? related : undefined, kept);
  }

  /** A request that did not run [C K-09]: that is its answer. */
  #refuse(id: string | number, method: string, error: Error): void {
    if (this.#isOver) return;
    const status = error instanceof HttpStatusError ? error.status : undefined;
    const isAnswered = status !== undefined && status !== 401 && status !== 403;
    if (method === "initialize" && this.#isRestored && !isAnswered) {
      // [C S-07] The session there may live: this start has failed, not the session.
      this.#isOver = true;
      const reason = status === undefined ? "unreachable" : "authorization";
      return this.#events.onExit(`could not be reached: ${reasonOf(error)}`, reason);
    }
    const data = { type: "upstream-refused", notRun: true, ...(status && { status }) };
    const message = `The server behind this one did not take the request. ${error.message}`;
    const body = JSON.stringify({ code: errorCodes.other, message, data });
    void this.#events.onMessage(errorMessageText(JSON.stringify(id), body));
  }

  /** [C K-08] What the server's log has lost is lost for the client, too: it is told. */
  #tellGap({ lostEvents, requestIds }: Gap): void {
    const data = { type: "resume-window-exceeded", at: "upstream", lostEvents };
    const params = { level: "warning", logger: "holdfast", data };
    const text = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params });
    const [related] = requestIds;
    void this.#events.onMessage(text, typeof related === "number" ? related : undefined);
  }

  #logLost(error: Error): void {
    if (this.#isOver && error instanceof ClientError) return;
    this.#settings.logger.warn(factsOf(error), "a message did not reach the server");
  }
}

/** [C P-03] no text of a server, which may quote a message. */
function factsOf(error: Error): object {
  const code = error instanceof ClientError ? { code: error.code } : {};
  const status = error instanceof HttpStatusError ? { status: error.status } : {};
  return { name: error.name, ...code, ...status };
}

function reasonOf(error: Error): string {
  return error instanceof HttpStatusError ? `status ${error.status}` : error.message;
}
