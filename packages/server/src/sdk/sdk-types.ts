/**
 * What SDK servers and their transports know of each other, as far as it is used here. Structural:
 * no SDK is imported, so that v1 (`@modelcontextprotocol/sdk`) and v2 (`@modelcontextprotocol/server`)
 * fit alike, and neither has to be installed.
 */
import type { AuthInfo } from "../authentication.ts";

/** Anything that serves MCP on a transport: `McpServer` and `Server` of SDK v1 and v2. */
export interface SdkServer {
  connect(transport: SdkTransport): Promise<void>;
  close?(): Promise<void>;
}

/** The server's end of a transport; the server sets the callbacks when it connects. */
export interface SdkTransport {
  start(): Promise<void>;
  send(message: unknown, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: unknown, extra?: MessageExtra) => void) | undefined;
  sessionId?: string | undefined;
}

export interface SendOptions {
  /** The id of the request that the message belongs to; without it, it belongs to the session. */
  readonly relatedRequestId?: string | number | undefined;
}

/** What a handler is told beside the message, in the names of SDK v1 and v2. */
export interface MessageExtra {
  /** Who makes the request, where that is known. */
  readonly authInfo?: AuthInfo | undefined;
  /** The HTTP request that brought the message, as SDK v1 tells it. */
  readonly requestInfo?: { readonly headers: RequestHeaders } | undefined;
  /** The same as SDK v2 tells it: method, URL of no meaning, headers. */
  readonly request?: Request | undefined;
  /** Let the reader of this request's stream go: it comes back after `retry:` [C E-11]. */
  readonly closeSSEStream?: (() => void) | undefined;
  /** The same for the reader of the standalone stream. */
  readonly closeStandaloneSSEStream?: (() => void) | undefined;
}

type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;
