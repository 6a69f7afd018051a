/**
 * What SDK servers and their transports know of each other, as far as it is used here. Structural:
 * no SDK is imported, so that v1 (`@modelcontextprotocol/sdk`) and v2 (`@modelcontextprotocol/server`)
 * fit alike, and neither has to be installed.
 */

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
  /** Let the reader of this request's stream go: it comes back after `retry:` [C E-11]. */
  readonly closeSSEStream?: (() => void) | undefined;
  /** The same for the reader of the standalone stream. */
  readonly closeStandaloneSSEStream?: (() => void) | undefined;
}
