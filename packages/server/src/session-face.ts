/**
 * A session as the HTTP side sees it, whoever runs it: this process, or another node to which its
 * messages go through the store.
 */
import type { EventPlace } from "@holdfast/contract";
import type { EndReason, SessionId, StreamState } from "@holdfast/log";
import type { Incoming, IncomingRequest } from "./incoming.ts";
import type { ForwardedHeaders } from "./upstream.ts";
import type { Viewports } from "./viewports.ts";

/** The messages of one POST that has requests among them. */
export interface PostedCalls {
  readonly messages: readonly Incoming[];
  /** Those of the messages that are requests, in their order. */
  readonly requests: readonly IncomingRequest[];
  /** Set for a single request under an idempotency key. */
  readonly key: { readonly scope: string; readonly key: string } | undefined;
  /** Of the client's request, those that are passed on. */
  readonly headers: ForwardedHeaders;
}

/** A stream that is in the log, for calls that wait to be begun. */
export interface OpenedStream {
  readonly kind: "opened";
  /** The place before the stream's first event. */
  readonly begin: EventPlace;
  /** The first byte is out: the messages go to the upstream, in their order. */
  start(): Promise<void>;
}

/** `moved`: another node runs the session since a moment ago; nothing was done, look it up again. */
export type Moved = { readonly kind: "moved" };

export type PostOutcome =
  | OpenedStream
  /** The key belongs to another payload; the payload is nested too deeply to be compared. */
  | { readonly kind: "reuse" | "deep" }
  /** The session's share of the log is full, or it is over. */
  | { readonly kind: "full" | "absent" }
  | Moved;

export type TellOutcome = { readonly kind: "told" | "full" | "absent" } | Moved;

/** `absent`: somebody else ended it first. */
export type EndOutcome = { readonly kind: "ended" | "absent" } | Moved;

export interface SessionFace {
  readonly id: SessionId;
  readonly tag: string;
  readonly principal: string;
  /** The negotiated protocol version; unknown until `initialize` is answered. */
  readonly version: string | undefined;
  /** [C E-05] this client's streams begin with a priming event, not with a comment. */
  readonly isPrimed: boolean;
  readonly viewports: Viewports;
  /** The upstream does not keep up: new work should be refused. */
  readonly isOverloaded: boolean;
  /** Calls that run, wait, or are about to be opened, and their streams [C P-02]. */
  readonly load: { readonly calls: number; readonly streams: number };
  /** Keep places for calls on one stream. @returns gives them back, once */
  hold(calls: number): () => void;
  /** The client said something. */
  touch(headers: ForwardedHeaders): void;
  /** @throws what the log throws: the calls did not run */
  open(posted: PostedCalls): Promise<PostOutcome>;
  /** Notifications and answers of the client, in their order. @throws what the log throws */
  tell(messages: readonly Incoming[], headers: ForwardedHeaders): Promise<TellOutcome>;
  /**
   * A GET is about to show a stream that the log has: viewports on other nodes let go [C R-02].
   *
   * @param former - the stream as it was read just now, where a cursor of it was refused
   * @returns the name under which it shows it; undefined where there are no other nodes
   */
  attach(stream: number, former?: StreamState): Promise<string | undefined>;
  /** @throws what the log throws: the session goes on */
  end(reason: EndReason): Promise<EndOutcome>;
}
