/**
 * Server-sent events as they come, nothing left out: events, ids without data, comments, retry.
 *
 * The parser is eventsource-parser, written by others than the writer under test.
 */
import { createParser } from "eventsource-parser";

export type SseItem =
  | {
      readonly kind: "event";
      /** The block's own `id` field; the priming event has one and empty data. */
      readonly id: string | undefined;
      /** The block's `event` field; `undefined` stands for "message". */
      readonly event: string | undefined;
      readonly data: string;
    }
  /** A block with an id and no data: it moves the cursor and is no event. */
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "comment"; readonly text: string }
  | { readonly kind: "retry"; readonly retryMs: number }
  /** A line that the standard ignores: an unknown field, a retry that is no number. */
  | { readonly kind: "ignored"; readonly line: string };

export type SseEvent = Extract<SseItem, { kind: "event" }>;

/** @returns feeds bytes, cut anywhere, and gives the items that they complete */
export function sseReader(): (bytes: Uint8Array) => SseItem[] {
  // The parser strips the one BOM itself.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let items: SseItem[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => {
      // The parser calls onId for the same block just before.
      if (id !== undefined) items.pop();
      items.push({ kind: "event", id, event, data });
    },
    onId: (id) => items.push({ kind: "id", id }),
    onComment: (text) => items.push({ kind: "comment", text }),
    onRetry: (retryMs) => items.push({ kind: "retry", retryMs }),
    onError: (error) => items.push({ kind: "ignored", line: error.line ?? "" }),
  });
  return (bytes) => {
    items = [];
    parser.feed(decoder.decode(bytes, { stream: true }));
    return items;
  };
}
