/** What a viewport shows next: the judgement of its cursor, and the events after it. */
import assert from "node:assert/strict";
import type { EventPlace } from "@holdfast/contract";
import {
  judge,
  type LoggedEvent,
  placeAt,
  type ReadLimit,
  type ReadOutcome,
  type SessionId,
} from "@holdfast/log";
import type { StreamEntry } from "./book.ts";
import type { Desk } from "./desk.ts";
import { kindOf } from "./rows.ts";
import type { EventRow } from "./statements.ts";

export function readAfter(
  desk: Desk,
  id: SessionId,
  cursor: EventPlace,
  limit: ReadLimit,
): ReadOutcome {
  const entry = desk.book.session(id);
  if (entry === undefined || entry.isPurged) return { kind: "absent" };
  const { tag } = entry.state;
  const stream = cursor.tag === tag ? desk.book.stream(entry, cursor.stream) : undefined;
  const judgement = judge(cursor, tag, stream?.state, desk.incarnation);
  if (judgement.kind !== "honoured") return judgement;
  assert(stream !== undefined, "a cursor of an unknown stream was honoured");
  return { kind: "events", events: eventsAfter(desk, entry.id, tag, stream, cursor, limit) };
}

function eventsAfter(
  { run, recent }: Desk,
  session: number,
  tag: string,
  stream: StreamEntry,
  { position }: EventPlace,
  limit: ReadLimit,
): readonly LoggedEvent[] {
  const { state } = stream;
  if (position >= state.head) return [];
  const shown: LoggedEvent[] = [];
  let bytes = 0;
  const fits = (size: number) => {
    bytes += size;
    return shown.length < limit.events && (shown.length === 0 || bytes <= limit.bytes);
  };
  const slice = recent.after(stream, position);
  if (slice !== undefined) {
    const { events, sizes } = slice.kept;
    for (let i = slice.from; i < events.length; i += 1) {
      const event = events[i];
      if (event === undefined || !fits(sizes[i] ?? 0)) break;
      shown.push(event);
    }
    return shown;
  }
  for (const row of run.events.iterate(session, state.stream, position, limit.events)) {
    const event = row as unknown as EventRow;
    if (!fits(event.bytes)) break;
    const place = placeAt(tag, state, event.position);
    shown.push({ place, kind: kindOf(event.kind), text: event.text });
  }
  return shown;
}
