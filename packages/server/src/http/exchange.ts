/**
 * One HTTP request and its answer, as the handler sees them: the shape that `node:http` and the
 * fetch style have in common. The two faces implement it; nothing else knows which one is there.
 */
import type { AuthInfo } from "../authentication.ts";

export type BodyOutcome =
  | { readonly kind: "body"; readonly bytes: Uint8Array }
  | { readonly kind: "too-large" }
  /** The client went away, or was too slow, before the body was whole. */
  | { readonly kind: "incomplete" };

export interface HttpRequest {
  readonly method: string;
  /** Path of the URL, without the query. */
  readonly path: string;
  /** Value of a header (lower-case name); values of a repeated one are joined by `, `. */
  header(name: string): string | undefined;
  /** All headers by lower-case name; values of repeated ones are joined by `, `. */
  headers(): Headers;
  /** What a middleware found out about the caller. */
  readonly authInfo: AuthInfo | undefined;
  /** Every `Host` that was sent; more than one is a trick. */
  hosts(): readonly string[];
  /** Read the body, once; stops at the limit. */
  body(bytesMax: number): Promise<BodyOutcome>;
}

/** The body of a response that stays open: a viewport writes into it. */
export interface Sink {
  /** Write text, at once. False: wait for {@link Sink.drained} before the next. */
  write(text: string | Uint8Array): boolean;
  /** Everything that was written has left the process. */
  isDrained(): boolean;
  /** Resolves when more may be written, or the other side is gone. */
  drained(): Promise<void>;
  /** End the response; a socket that has not taken all of it after so long is destroyed. */
  end(lingerMs: number): void;
  /** Cut the connection. */
  destroy(): void;
  /** Called once, when the response is over for whatever cause; at once if it is over already. */
  onClose(listener: () => void): void;
}

export type Headers = Readonly<Record<string, string>>;

export interface HttpReply {
  /** A whole answer. */
  send(status: number, headers: Headers, body?: string): void;
  /** Begin an answer that stays open; headers leave with the first write. */
  stream(headers: Headers): Sink;
}
