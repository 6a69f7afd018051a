/**
 * What stands behind a session: one MCP server, whatever it is made of. Text in, text out; one
 * JSON-RPC message each.
 */

export interface Upstream {
  /**
   * Hand one message over.
   *
   * Resolves when the upstream took it; a slow one holds the promise back.
   *
   * @throws when it is gone: the message may or may not have arrived
   */
  send(text: string): Promise<void>;
  /** End it, gently first. Resolves when it is gone. Again: the same promise. */
  close(): Promise<void>;
}

export interface UpstreamEvents {
  /**
   * One JSON-RPC message from the upstream.
   *
   * @param related - the id (as the upstream saw it) of the request that the message belongs to,
   * where the upstream knows; stdio never does
   * @returns a promise when the log is behind: read no further before it resolves
   */
  onMessage(text: string, related?: number): Promise<void> | undefined;
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
   */
  onExit(reason: string): void;
}

export interface UpstreamFactory {
  /**
   * Start the server of a session.
   *
   * @throws {@link HoldfastError} `ERR_UPSTREAM_START`
   */
  start(session: { readonly tag: string }, events: UpstreamEvents): Promise<Upstream>;
}
