/**
 * The newest events of streams that somebody follows, kept so that showing an event just committed
 * costs no query. Only ever the events up to the head, without a hole: who reads gets the same
 * events as from the file, or is sent there.
 */
import type { LoggedEvent } from "@holdfast/log";
import type { RecentEvents, StreamEntry } from "./book.ts";

const streamEventsMax = 64;
const streamBytesMax = 256 * 1024;
const bytesMax = 32 * 1024 * 1024;

export interface Recent {
  /** The stream's new head was committed. */
  keep(stream: StreamEntry, event: LoggedEvent, bytes: number): void;
  drop(stream: StreamEntry): void;
  /** The kept events after a position, with their sizes; `undefined` if some are not kept. */
  after(stream: StreamEntry, position: number): RecentSlice | undefined;
}

export interface RecentSlice {
  readonly kept: Pick<RecentEvents, "events" | "sizes">;
  /** Index of the first event after the position. */
  readonly from: number;
}

export function createRecent(): Recent {
  let total = 0;

  const shift = (recent: RecentEvents) => {
    const bytes = recent.sizes.shift() ?? 0;
    recent.events.shift();
    recent.bytes -= bytes;
    total -= bytes;
  };
  const drop = (stream: StreamEntry) => {
    total -= stream.recent?.bytes ?? 0;
    stream.recent = undefined;
  };

  return {
    drop,
    keep: (stream, event, bytes) => {
      stream.recent ??= { events: [], sizes: [], bytes: 0 };
      const { recent } = stream;
      recent.events.push(event);
      recent.sizes.push(bytes);
      recent.bytes += bytes;
      total += bytes;
      while (recent.events.length > streamEventsMax || recent.bytes > streamBytesMax) shift(recent);
      if (total > bytesMax) drop(stream);
    },
    after: (stream, position) => {
      const kept = stream.recent;
      if (kept === undefined) return undefined;
      const from = position - (stream.state.head - kept.events.length);
      return from < 0 ? undefined : { kept, from };
    },
  };
}
