/**
 * Event ids: the wire form of a place in one stream of one session.
 *
 *     3f9c0a51d2b47e88.4.17.k2v9x0qm
 *     session tag      | |  incarnation
 *                 stream |
 *                        position
 *
 * Pure: the tag and the incarnation are made elsewhere (a hash, a random source); this file
 * knows their shape alone.
 */

declare const brand: unique symbol;
/** The wire form of an {@link EventPlace}; visible ASCII, at most {@link eventIdCharsMax}. */
export type EventId = string & { readonly [brand]: "EventId" };

/** A place in a stream, together with the session and the incarnation that vouch for it. */
export interface EventPlace {
  /** Tag of the session, 16 lower-case hexadecimal digits. */
  readonly tag: string;
  /** Number of the stream in its session; {@link standaloneStream} is the GET lane. */
  readonly stream: number;
  /** Number of the event in its stream: 1, 2, 3 …; 0 is the place before the first. */
  readonly position: number;
  /** Incarnation of the log under which the event was appended, 8 characters of `0-9a-z`. */
  readonly incarnation: string;
}

/** The stream that a GET without a cursor shows. */
export const standaloneStream = 0;

/** [C E-02] an event id has at most 128 characters. */
export const eventIdCharsMax = 128;

// One spelling for each place; bounded in every part, so that no text of any length costs more.
const form = /^([0-9a-f]{16})\.(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})\.([0-9a-z]{8})$/;

/** Write a place as an event id. */
export function encodeEventId(place: EventPlace): EventId {
  return `${place.tag}.${place.stream}.${place.position}.${place.incarnation}` as EventId;
}

/**
 * Read an event id.
 *
 * @param text - the value of a `Last-Event-ID` header, of any length
 * @returns the place, or `undefined` when the text is no event id of this contract [C R-05]
 */
export function parseEventId(text: string): EventPlace | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, tag = "", stream, position, incarnation = ""] = match;
  return { tag, stream: Number(stream), position: Number(position), incarnation };
}

/**
 * Order two places of one stream.
 *
 * @returns negative, 0 or positive as `a` is before, at or after `b`; `undefined` when they
 * cannot be compared: another session, stream or incarnation
 */
export function compareEventIds(a: EventPlace, b: EventPlace): number | undefined {
  const comparable = a.tag === b.tag && a.stream === b.stream && a.incarnation === b.incarnation;
  return comparable ? a.position - b.position : undefined;
}
