/**
 * The transport between one SDK server and its session, both in this process: objects on the
 * server's side, text on the session's. It knows nothing of HTTP, and closing a connection never
 * closes it [C X-01].
 *
 *     open ──close (by the session)──▶ closed
 *       └──close (by the server)──▶ closed, and the session is told
 */
import { errorMessageText, HoldfastError, isPrimedVersion } from "@holdfast/contract";
import {
  type ForwardedHeaders,
  splitAuthInfo,
  type Upstream,
  type UpstreamEvents,
} from "../upstream.ts";
import type { MessageExtra, SdkServer, SdkTransport, SendOptions } from "./sdk-types.ts";

/** Largest message that is taken from a server by default, bytes. */
export const eventBytesMaxDefault = 32 * 2 ** 20;

export interface SessionTransportSettings {
  readonly sessionId: string;
  readonly eventBytesMax: number;
}

export class SessionTransport implements SdkTransport {
  readonly sessionId: string;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: unknown, extra?: MessageExtra) => void) | undefined;
  readonly #events: UpstreamEvents;
  readonly #eventBytesMax: number;
  /** Set when the server has answered `initialize`. */
  #version: string | undefined;
  #isClosed = false;

  constructor(events: UpstreamEvents, { sessionId, eventBytesMax }: SessionTransportSettings) {
    this.#events = events;
    this.#eventBytesMax = eventBytesMax;
    this.sessionId = sessionId;
  }

  async start(): Promise<void> {}

  /**
   * A message of the server.
   *
   * Resolves when the session takes more: a server that awaits it does not outrun the log.
   */
  async send(message: unknown, options: SendOptions = {}): Promise<void> {
    if (this.#isClosed) throw new Error("The session's transport is closed.");
    const { id, method, result } = message as Sent;
    this.#version ??= versionOf(result);
    // Once: what is stored and shown is this very text [C E-12].
    const text = this.#textOf(message, method === undefined ? id : undefined);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#eventBytesMax) return this.#refuse(id, method, bytes);
    const { relatedRequestId } = options;
    // The ids that it knows are the session's numbers.
    await this.#events.onMessage(
      text,
      typeof relatedRequestId === "number" ? relatedRequestId : null,
    );
  }

  /** Hand a message of the client to the server. */
  receive(text: string, forwarded: ForwardedHeaders = {}): void {
    if (this.#isClosed) throw new Error("The server is gone.");
    const message = JSON.parse(text) as Sent;
    const extra = extraOf(forwarded);
    this.onmessage?.(message, Object.assign(extra, this.#lettingGo(message)));
  }

  /** By the server itself: nothing more will come from it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
    this.#events.onExit("closed its transport");
  }

  /** By the session: handlers that still run are aborted. */
  async end(server: SdkServer): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The server closes its transport in turn, which by then is closed.
    await server.close?.();
    this.onclose?.();
  }

  #lettingGo({ id, method }: Sent): MessageExtra {
    if (typeof id !== "number" || method === undefined) return {};
    // Older clients could not come back: their streams begin without an id.
    if (this.#version === undefined || !isPrimedVersion(this.#version)) return {};
    return {
      closeSSEStream: () => this.#events.onLetGo(id),
      closeStandaloneSSEStream: () => this.#events.onLetGo(null),
    };
  }

  /**
   * [C X-05] Nobody waits for ever: a response that is no JSON is still an outcome.
   *
   * @param answers - the id of the request that the message answers, if it answers one
   */
  #textOf(message: unknown, answers: unknown): string {
    try {
      return JSON.stringify(message);
    } catch (error) {
      if (typeof answers === "number") {
        void this.#events.onMessage(errorMessageText(String(answers), noJsonError), null);
      }
      throw error;
    }
  }

  /** Too large for the log: whoever waits for it is told; of anything else, the server. */
  #refuse(id: unknown, method: unknown, bytes: number): void {
    const bytesMax = this.#eventBytesMax;
    if (method === undefined) {
      this.#events.onOversized({ idJson: JSON.stringify(id), bytes, bytesMax });
      return;
    }
    throw new HoldfastError("ERR_EVENT_TOO_LARGE", `A message has ${bytes} bytes.`, {
      seen: bytes,
      needed: bytesMax,
    });
  }
}

/** What is looked at in a message. */
interface Sent {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: unknown;
}

const noJsonError = '{"code":-32603,"message":"The server\'s answer cannot be written as JSON."}';

/** The request that brought a message; as SDK v2 has it, it is made when somebody looks. */
function extraOf(forwarded: ForwardedHeaders): MessageExtra {
  const { headers, authInfo } = splitAuthInfo(forwarded);
  let request: Request | undefined;
  return {
    ...(authInfo === undefined ? {} : { authInfo }),
    requestInfo: { headers },
    get request() {
      request ??= new Request(`http://${headers["host"] ?? "localhost"}/`, {
        method: "POST",
        headers,
      });
      return request;
    },
  };
}

/** The version that an answer of `initialize` names. */
function versionOf(result: unknown): string | undefined {
  if (typeof result !== "object" || result === null) return undefined;
  const version = "protocolVersion" in result ? result.protocolVersion : undefined;
  return typeof version === "string" ? version : undefined;
}

/** A server on its transport, as the session sees it. @throws what `connect` throws */
export async function connectServer(
  server: SdkServer,
  events: UpstreamEvents,
  settings: SessionTransportSettings,
): Promise<Upstream> {
  const transport = new SessionTransport(events, settings);
  await server.connect(transport);
  let ended: Promise<void> | undefined;
  return {
    send: async (text, headers) => transport.receive(text, headers),
    close: () => {
      ended ??= transport.end(server);
      return ended;
    },
  };
}
