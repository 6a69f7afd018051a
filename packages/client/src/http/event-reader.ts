/**
 * Reads the bytes of an event stream as the WHATWG standard says [C K-15]. No socket, no timer:
 * chunks come in, of any size; what they say goes to a sink, in their order.
 *
 * An id reaches the sink after the message that came with it: the cursor waits for the hand-on.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface EventSink {
  /** An event with data; `name` is `message` where the stream named none. */
  event(name: string, data: string, id: string | undefined): void;
  /** [C K-06] the id of an event, with data or without; null: the stream took it back. */
  moved(id: string | null): void;
  retry(ms: number): void;
  comment(text: string): void;
}

export interface EventReader {
  /** @throws EventTooLarge, before anything of that event has reached the sink */
  read(chunk: Uint8Array): void;
  /** [C K-04] a `retry:` was the last thing that came. */
  isAnnounced(): boolean;
  /** Nothing more reaches the sink. */
  stop(): void;
}

/** One event is larger than is taken [C K-15]. */
export class EventTooLarge extends Error {
  override readonly name = "EventTooLarge";
}

/** @param eventCharsMax - how much of one event is held */
export function eventReader(sink: EventSink, eventCharsMax: number): EventReader {
  // The parser takes the one BOM off; the decoder must leave it.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let pending: string | undefined;
  let isAnnounced = false;
  let isStopped = false;
  let isTooLarge = false;

  // The parser reports an id just before its event, or alone.
  const move = () => {
    if (pending === undefined || isStopped) return;
    const id = pending;
    pending = undefined;
    sink.moved(id === "" ? null : id);
  };
  const onEvent = ({ id, event, data }: EventSourceMessage) => {
    if (id === undefined) move();
    if (data.length > eventCharsMax) isTooLarge = true;
    if (isStopped || isTooLarge) return;
    // [spec] a priming event has no data: it moves the cursor and says nothing.
    if (data !== "") {
      isAnnounced = false;
      sink.event(event ?? "message", data, id);
    }
    if (isStopped) pending = undefined;
    move();
  };
  const parser = createParser({
    maxBufferSize: eventCharsMax,
    onEvent,
    onId: (id) => {
      move();
      if (!isTooLarge) pending = id;
    },
    onRetry: (ms) => {
      isAnnounced = true;
      if (!isStopped) sink.retry(ms);
    },
    onComment: (text) => {
      move();
      if (!isStopped) sink.comment(text);
    },
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") isTooLarge = true;
    },
  });

  return {
    read: (chunk) => {
      if (isStopped) return;
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (!isTooLarge) return move();
      isStopped = true;
      throw new EventTooLarge(`An event has more than ${eventCharsMax} characters.`);
    },
    isAnnounced: () => isAnnounced,
    stop: () => {
      isStopped = true;
    },
  };
}
