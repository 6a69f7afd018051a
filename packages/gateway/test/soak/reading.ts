/** Reading a stream of the soak from cursor to cursor, and noting what was shown. */
import { type EventStream, messageOf, NoResponseError, openEventStream } from "@holdfast/testkit";
import type { Fact } from "./history.ts";

/** Somebody who reads one stream of one session. */
export interface Reader {
  readonly session: string;
  /** The event id with which the stream began. */
  readonly first: string;
  /** The newest event seen. */
  cursor: string;
  /** Nothing more will come. */
  isOver: boolean;
}

export interface Watch {
  note(fact: Fact): void;
  /** An event was shown. */
  onEvent(): void;
}

export interface ReadOptions {
  /** Cut the connection after so many events. */
  readonly cutAfter?: number | undefined;
  /** Let go once everything that there is was shown. */
  readonly stopsWhenIdle?: boolean;
}

/**
 * Read a viewport to its end.
 *
 * @returns the ids shown
 */
export async function readViewport(
  stream: EventStream,
  reader: Reader,
  watch: Watch,
  { cutAfter = Number.POSITIVE_INFINITY, stopsWhenIdle = false }: ReadOptions = {},
): Promise<readonly string[]> {
  const after = reader.cursor;
  const shown: Fact[] = [];
  const ids: string[] = [];
  let hasResponse = false;
  for await (const item of stream) {
    // "it names the newest event already written to this viewport" [C E-06]: all has come.
    if (stopsWhenIdle && item.kind === "comment" && item.text.startsWith("at ")) stream.destroy();
    if (item.kind !== "event") continue;
    if (item.id !== undefined) reader.cursor = item.id;
    if (item.data === "" || item.id === undefined) continue;
    ids.push(item.id);
    shown.push({ kind: "event", session: reader.session, id: item.id, text: item.data, after });
    hasResponse ||= messageOf(item)?.method === undefined;
    watch.onEvent();
    if (ids.length >= cutAfter) stream.destroy("rst");
  }
  for (const fact of shown) watch.note(fact);
  const { how } = await stream.ended;
  if (how === "end" && hasResponse) reader.isOver = true;
  return ids;
}

/**
 * Resume once, from the reader's cursor; a gap is noted, and jumped.
 *
 * @returns the stream, when there is one to be read
 */
export async function resume(
  url: string,
  reader: Reader,
  watch: Watch,
): Promise<EventStream | undefined> {
  for (;;) {
    const from = reader.cursor;
    const stream = await openEventStream({
      url,
      headers: {
        accept: "text/event-stream",
        "mcp-session-id": reader.session,
        "mcp-resume-contract": "1",
        "last-event-id": from,
      },
    }).catch(noResponse);
    if (stream === undefined || stream.status === 503) return undefined;
    if (stream.status === 200) return stream;
    if (stream.status === 204) {
      reader.isOver = true;
      return undefined;
    }
    const text = await stream.text();
    const data = stream.status === 410 ? JSON.parse(text).error.data : undefined;
    if (data === undefined) throw new Error(`resume: ${stream.status} ${text}`);
    const { oldestEventId: to, lostEvents: lost } = data;
    watch.note({ kind: "gap", session: reader.session, from, to, lost });
    reader.cursor = to;
  }
}

/** A connection that died before the head of its response. */
export function noResponse(error: unknown): undefined {
  if (error instanceof NoResponseError) return undefined;
  throw error;
}
