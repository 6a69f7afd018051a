/**
 * What stands behind a session: one MCP server, whatever it is made of. Text in, text out; one
 * JSON-RPC message each.
 */
import type { OutcomeUnknownReason } from "@holdfast/contract";
import type { AuthInfo } from "./authentication.ts";
import type { SessionData } from "./session-data.ts";

/** HTTP headers by lower-case name; see {@link withAuthInfo}. */
export type ForwardedHeaders = Readonly<Record<string, string>>;

/** No header has such a name. */
const authInfoName = ":auth";

/** Who calls goes along with the headers, as text: over nodes, too. */
export function withAuthInfo(
  headers: ForwardedHeaders,
  authInfo: AuthInfo | undefined,
): ForwardedHeaders {
  return authInfo === undefined
    ? headers
    : { ...headers, [authInfoName]: JSON.stringify(authInfo) };
}

/** The headers alone, and who calls. */
export function splitAuthInfo({ [authInfoName]: text, ...headers }: ForwardedHeaders): {
  readonly headers: ForwardedHeaders;
  readonly authInfo: AuthInfo | undefined;
} {
  if (text === undefined) return { headers, authInfo: undefined };
  const { resource, ...rest } = JSON.parse(text) as Omit<AuthInfo, "resource"> & {
    readonly resource?: string;
  };
  const authInfo = resource === undefined ? rest : { ...rest, resource: new URL(resource) };
  return { headers, authInfo };
}

export interface Upstream {
  /**
   * Hand one message over.
   *
   * Resolves when the upstream took it; a slow one holds the promise back.
   *
   * @param headers - of the client's request that brought it, those that are passed on
   * @throws when it is gone: the message may or may not have arrived
   */
  send(text: string, headers?: ForwardedHeaders): Promise<void>;
  /**
   * End it, gently first. Resolves when it is gone. Again: the same promise.
   *
   * @param end - `over`: nobody comes back to the session; `rest`: another start goes on with it
   */
  close(end?: UpstreamEnd): Promise<void>;
  /** Whether a request of an earlier start, by its id, is still under way here. */
  holds?(number: number): boolean;
}

export type UpstreamEnd = "over" | "rest";

export interface UpstreamEvents {
  /**
   * One JSON-RPC message from the upstream.
   *
   * @param related - the id (as the upstream saw it) of the request that the message belongs to, or
   * null: to none; left out where the upstream cannot tell, as over stdio
   * @param kept - what the upstream keeps from now on: in the log together with the message
   * @returns a promise when the log is behind: read no further before it resolves
   */
  onMessage(text: string, related?: number | null, kept?: string): Promise<void> | undefined;
  /** Nobody knows whether a request ran, and no answer will come [C X-05]; by its id. */
  onUnknown(number: number, reason: OutcomeUnknownReason): void;
  /**
   * [C E-11] The reader of a stream may go, and come back after the `retry:` that it is told; the
   * stream goes on. Of a client that could not come back it is not asked.
   *
   * @param related - the id of the request whose stream it is; null: the standalone stream
   */
  onLetGo(related: number | null): void;
  /** A message over the size limit was thrown away; `idJson` when it could be told whose it was. */
  onOversized(message: {
    readonly idJson: string | undefined;
    readonly bytes: number;
    readonly bytesMax: number;
  }): void;
  /**
   * It is gone by itself, nothing more will come. Called at most once, never after `close`.
   *
   * @param reason - a few words: `exited with code 1`, `was killed by SIGKILL`
   * @param outcome - of the requests that it had; `upstream-exited` when left out
   */
  onExit(reason: string, outcome?: OutcomeUnknownReason): void;
}

/** The session that an upstream is started for. */
export interface UpstreamSession {
  readonly id: string;
  readonly tag: string;
  readonly principal: string;
  /** What its client has set up so far; a version only where it was negotiated before. */
  readonly setup: Pick<SessionData, "initialize" | "version" | "level" | "subscriptions">;
  /** What the upstream before kept last, in this process or an earlier one. */
  readonly kept: string | undefined;
  /** Keep this in its place; resolves when it is in the log, in the order of the calls. */
  keep(text: string): Promise<void>;
  /** The newest headers of the client that are passed on. */
  headers(): ForwardedHeaders;
}

export interface UpstreamFactory {
  /**
   * What its upstreams work on outlives this process: a call that ran when it died is not closed
   * as long as the next upstream `holds` it.
   */
  readonly outlivesProcess?: boolean;
  /**
   * Start the server of a session.
   *
   * @throws {@link HoldfastError} `ERR_UPSTREAM_START`
   */
  start(session: UpstreamSession, events: UpstreamEvents): Promise<Upstream>;
  /** A session is over whose upstream does not run: give up what it keeps elsewhere. */
  discard?(session: UpstreamSession): void;
}
