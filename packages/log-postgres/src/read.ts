/** What a viewport shows next: always asked of the store, which may know of other nodes' appends. */
import assert from "node:assert/strict";
import type { EventPlace } from "@holdfast/contract";
import {
  type EndReason,
  judge,
  placeAt,
  type ReadLimit,
  type ReadOutcome,
  type Seen,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { incarnationOf, kindOf, type StreamRow, streamOf } from "./rows.ts";

/** The first row of read.sql; `calls` is null where the stream is not there. */
interface HeadRow extends Omit<StreamRow, "calls" | "stream"> {
  readonly tag: string;
  readonly purge: number;
  readonly ended: EndReason | null;
  readonly incarnation: string;
  readonly session_generation: number;
  /** Of the log. */
  readonly log_generation: number;
  readonly calls: Buffer | null;
}

interface EventRow {
  readonly position: number;
  readonly kind: number;
  readonly text: Buffer;
}

export interface Reading {
  readonly outcome: ReadOutcome;
  /** As it was then; `undefined` where it is not there. */
  readonly stream: StreamState | undefined;
  readonly isOver: boolean;
}

export async function readAfter(
  desk: Desk,
  session: SessionId,
  cursor: EventPlace,
  limit: ReadLimit,
): Promise<Reading> {
  const { connections, term, meet } = desk;
  const { stream: number, position } = cursor;
  const values = [session, number, position, limit.events, limit.bytes];
  const rows = await connections.ask<object>("read", ...values);
  const [head, ...events] = rows as readonly [HeadRow, ...EventRow[]];
  // [C R-08] Another node has found a loss: not on what was known before.
  if (head !== undefined && head.log_generation !== term().generation) await meet();
  const { loss } = term();
  if (head === undefined || head.purge > 0) {
    return { outcome: { kind: "absent" }, stream: undefined, isOver: head !== undefined };
  }
  const { tag, calls, incarnation, session_generation: generation } = head;
  const stream = calls === null ? undefined : streamOf({ ...head, stream: number, calls }, loss);
  const around = { stream, isOver: head.ended !== null };
  const ofSession = incarnationOf({ incarnation, generation }, loss);
  const judgement = judge(cursor, tag, stream, ofSession);
  const seen = seenOf(head, stream);
  if (judgement.kind === "finished") return { outcome: { ...judgement, ...seen }, ...around };
  if (judgement.kind !== "honoured") return { outcome: judgement, ...around };
  assert(stream !== undefined, "a cursor of an unknown stream was honoured");
  const shown = events.map((event) => ({
    place: placeAt(tag, stream, event.position),
    kind: kindOf(event.kind),
    text: event.text.toString(),
  }));
  return { outcome: { kind: "events", events: shown, ...seen }, ...around };
}

/** [C R-02] [C D-01] */
function seenOf({ ended }: HeadRow, stream: StreamState | undefined): Seen {
  const viewer = stream?.viewer;
  return { ...(ended === null ? {} : { ended }), ...(viewer === undefined ? {} : { viewer }) };
}
