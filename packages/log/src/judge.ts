/**
 * Whether a cursor is honoured: the one judgement that every log passes, pure and total.
 *
 *     position   0 ………… evictedThrough ………… head
 *     verdict       gap │ honoured, if the incarnation is right │ gap (the log lost its end)
 */
import type { EventPlace } from "@holdfast/contract";
import type { Gap, StreamState } from "./event-log.ts";
import { incarnationAt, placeAt } from "./incarnations.ts";

export type Judgement =
  | { readonly kind: "foreign" }
  | { readonly kind: "gap"; readonly gap: Gap }
  | { readonly kind: "finished" }
  | { readonly kind: "honoured" };

/**
 * Judge a cursor of one session.
 *
 * @param tag - the session's tag
 * @param stream - the cursor's stream as the log knows it; `undefined` if it does not
 * @param incarnation - the incarnation of the log now
 */
export function judge(
  cursor: EventPlace,
  tag: string,
  stream: StreamState | undefined,
  incarnation: string,
): Judgement {
  // [C R-05] "Id of another session or another log: 400 foreign-event-id"
  if (cursor.tag !== tag) return { kind: "foreign" };
  if (stream === undefined) return judgeUnknownStream(cursor, incarnation);
  // [C R-05] "An id past the head (the log lost its end) … 410 as R-03, lostEvents null"
  if (cursor.position > stream.head) return gap(cursor, tag, stream, null);
  const recorded = incarnationAt(stream.runs, cursor.position);
  const isRecorded = recorded === cursor.incarnation;
  // [C R-03] "the test is per stream and exact"
  if (cursor.position < stream.evictedThrough) {
    return gap(cursor, tag, stream, isRecorded ? stream.evictedThrough - cursor.position : null);
  }
  // [C R-05] "or of another incarnation than the log's record"
  if (!isRecorded) return gap(cursor, tag, stream, null);
  return stream.isFinished && cursor.position === stream.head
    ? { kind: "finished" }
    : { kind: "honoured" };
}

function gap(
  requested: EventPlace,
  tag: string,
  stream: StreamState,
  lostEvents: number | null,
): Judgement {
  // [C R-04] "never before the requested position: nothing already seen is delivered again"
  const oldest = Math.max(stream.evictedThrough, Math.min(requested.position, stream.head));
  return {
    kind: "gap",
    gap: {
      stream: stream.stream,
      requested,
      oldest: placeAt(tag, stream, oldest),
      head: placeAt(tag, stream, stream.head),
      lostEvents,
      retained: placeAt(tag, stream, stream.evictedThrough),
    },
  };
}

/**
 * The stream itself went with a lost end. The place that the gap names is at the end of a stream
 * to which nothing will ever come, and says so when it is shown.
 */
function judgeUnknownStream(cursor: EventPlace, incarnation: string): Judgement {
  if (cursor.position === 0 && cursor.incarnation === incarnation) return { kind: "finished" };
  const place: EventPlace = { ...cursor, position: 0, incarnation };
  return {
    kind: "gap",
    gap: {
      stream: cursor.stream,
      requested: cursor,
      oldest: place,
      head: place,
      lostEvents: null,
      retained: place,
    },
  };
}
