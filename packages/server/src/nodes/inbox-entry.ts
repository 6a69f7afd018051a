/**
 * What nodes say to the owner of a session through its inbox, as the text of an entry.
 *
 *     calls ──▶ noted; they run on ──go──▶ upstream        (the node with the socket has its first byte out)
 *       └──drop──▶ cancelled                            the node of a `calls` is gone ──▶ unknown outcome
 */
import type { EndReason, KeyClaim, NodeId } from "@holdfast/log";
import type { ForwardedHeaders } from "../upstream.ts";

export type InboxText =
  /** Calls for which the sender opened a stream. They wait for their `go`. */
  | {
      readonly kind: "calls";
      /** JSON-RPC messages of one POST, as they were sent. */
      readonly messages: readonly string[];
      readonly startedAtMs: number;
      /** Of the client's request, those that are passed on. */
      readonly headers: ForwardedHeaders;
      /** Its key belongs to another call, for which it waits [C X-03]. */
      readonly waitsFor?: KeyClaim;
      /** Said again by an owner that passes the session on: what the entry said itself, at first. */
      readonly stream?: number;
      readonly from?: NodeId;
    }
  | { readonly kind: "go"; readonly stream: number }
  /** Calls that will not be begun after all: their caller was told so. */
  | { readonly kind: "drop"; readonly stream: number }
  /** Notifications and answers of the client. */
  | {
      readonly kind: "tell";
      readonly messages: readonly string[];
      readonly headers: ForwardedHeaders;
    }
  /** Somebody listens to the standalone stream: an upstream should run. */
  | { readonly kind: "listen" }
  | { readonly kind: "end"; readonly reason: EndReason };

export function writeInboxText(text: InboxText): string {
  return JSON.stringify(text);
}

/** @throws SyntaxError when the text is not what {@link writeInboxText} wrote */
export function readInboxText(text: string): InboxText {
  return JSON.parse(text) as InboxText;
}
