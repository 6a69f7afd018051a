/** Writes of several sessions, as parameters of commit.sql. Pure. */
import { randomBytes } from "node:crypto";
import type { Claim } from "@holdfast/log";
import { type Bodies, createBodies } from "./bodies.ts";
import type { SessionEntry } from "./book.ts";
import type { ClaimChange, Write } from "./draft.ts";
import { indexed, kindNumber, writeRuns } from "./rows.ts";

export interface PlannedWrite {
  /** Names this write, so that it is known again after a lost reply. */
  readonly name: string;
  readonly write: Write;
  /** What it was planned on; `undefined`: it creates the session. */
  readonly entry: SessionEntry | undefined;
  readonly fence: number;
  /** Begins with a session that is made. */
  readonly incarnation: string;
}

/** 62 random bits, as a positive bigint. */
export function newWriteName(): string {
  return (randomBytes(8).readBigUInt64BE() >> 2n).toString();
}

/** The rows of a write, by the parameter that has them. */
interface Rows {
  readonly groups: object[];
  readonly opened: object[];
  readonly changed: object[];
  readonly events: object[];
  readonly claims: object[];
  readonly entries: object[];
  readonly census: object[];
}

/**
 * @param generation - of the log
 * @returns the first eight parameters of commit.sql
 */
export function writeValues(
  writes: readonly PlannedWrite[],
  stampMs: number,
  generation: number,
): readonly (string | Buffer)[] {
  const bodies = createBodies();
  const rows: Rows = {
    ...{ groups: [], opened: [], changed: [], events: [], claims: [], entries: [], census: [] },
  };
  for (const [i, planned] of writes.entries()) {
    const g = i + 1;
    rows.groups.push(groupRow(planned, g, bodies, stampMs));
    addStreams(rows, planned, g, bodies, stampMs, generation);
    rows.events.push(...eventRows(planned, g, bodies, stampMs));
    for (const change of planned.write.claims.values()) {
      rows.claims.push(claimRow(change, g, bodies, stampMs));
    }
    for (const [n, { text, stream }] of planned.write.sent.entries()) {
      const [text_at, bytes] = bodies.add(text);
      rows.entries.push({ g, n: n + 1, stream: stream ?? null, text_at, bytes });
    }
    const { session } = planned.write;
    const live = Number(planned.entry === undefined) - Number(session.ended !== undefined);
    if (live !== 0) {
      rows.census.push({ g, live, ...slice("principal", bodies.add(indexed(session.principal))) });
    }
  }
  return [...Object.values(rows).map((some: object[]) => JSON.stringify(some)), bodies.all()];
}

function groupRow(
  { name: write, write: planned, entry, fence, incarnation }: PlannedWrite,
  g: number,
  bodies: Bodies,
  at_ms: number,
): object {
  const { session, events, touch, sent, holding } = planned;
  const responses = events.filter(({ kind }) => kind === "response");
  return {
    ...{ g, write, fence, at_ms, name: session.session },
    ...(entry === undefined
      ? {
          ...{ tag: session.tag, incarnation },
          created_at_ms: session.createdAtMs,
          ...slice("principal", bodies.add(session.principal)),
        }
      : { session: entry.id, version: entry.version }),
    ...(session.data === entry?.state.data ? {} : slice("data", bodies.add(session.data))),
    next_stream: session.nextStream,
    many: events.length,
    events: events.length - responses.length,
    bytes: sumBytes(events),
    response_bytes: sumBytes(responses),
    running_calls: holding.calls - (entry?.holding.calls ?? 0),
    running_streams: holding.streams - (entry?.holding.streams ?? 0),
    sent: sent.length,
    sent_bytes: sent.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    touch: touch === undefined ? null : Number(touch.isUsed),
    ended: session.ended ?? null,
  };
}

function addStreams(
  { opened, changed }: Rows,
  { write, entry }: PlannedWrite,
  g: number,
  bodies: Bodies,
  atMs: number,
  generation: number,
): void {
  for (const state of write.streams.values()) {
    const known = entry?.streams.get(state.stream);
    const calls = state.calls.length === 0 ? "" : JSON.stringify(state.calls);
    (known === undefined ? opened : changed).push({
      ...{ g, stream: state.stream },
      ...(state.calls === known?.calls ? {} : slice("calls", bodies.add(calls))),
      ...{ runs: writeRuns(state.runs), generation, head: state.head },
      written_through: state.writtenThrough,
      viewer: state.viewer ?? null,
      finished_at_ms: state.isFinished ? atMs : null,
    });
  }
}

function eventRows(
  { write }: PlannedWrite,
  g: number,
  bodies: Bodies,
  at_ms: number,
): readonly object[] {
  return write.events.map(({ stream, position, kind, text }, i) => {
    const [text_at, bytes] = bodies.add(text);
    return { g, stream, position, n: i + 1, kind: kindNumber(kind), at_ms, bytes, text_at };
  });
}

function claimRow({ entry, before }: ClaimChange, g: number, bodies: Bodies, atMs: number): object {
  const { scope, key, claim } = entry;
  const { digest, stream, call, outcome, request } = claim;
  const { id, method, name, startedAtMs } = request;
  const answer = outcome.kind === "answered" ? bodies.add(outcome.text) : undefined;
  return {
    ...{ g, how: howOf(before), stream, call },
    ...(before && {
      held_session: before.session,
      held_stream: before.stream,
      held_call: before.call,
    }),
    ...slice("scope", bodies.add(indexed(scope))),
    ...slice("key", bodies.add(indexed(key))),
    ...slice("digest", bodies.add(digest)),
    ...slice("request", bodies.add(JSON.stringify({ id, method, name, startedAtMs }))),
    ...(answer && slice("response", answer)),
    unknown: outcome.kind === "unknown" ? outcome.reason : null,
    settled_at_ms: outcome.kind === "running" ? null : atMs,
  };
}

function howOf(before: Claim | undefined): "new" | "rerun" | "settle" {
  if (before === undefined) return "new";
  return before.outcome.kind === "unknown" ? "rerun" : "settle";
}

function slice(name: string, [at, bytes]: readonly [number, number]): object {
  return { [`${name}_at`]: at, [`${name}_bytes`]: bytes };
}

function sumBytes(events: readonly { readonly bytes: number }[]): number {
  return events.reduce((sum, { bytes }) => sum + bytes, 0);
}
