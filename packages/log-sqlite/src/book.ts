/**
 * Sessions and streams as the file has them, kept in memory once they were asked for.
 *
 * What is kept is right because this process alone writes the file. It is dropped when a
 * transaction failed, and oldest first when it grows over its bounds; it is then read again.
 */
import {
  effectiveRuns,
  type Followers,
  type LoggedEvent,
  pruneRuns,
  type SessionId,
  type SessionState,
  type StreamState,
} from "@holdfast/log";
import { readCalls, readRuns } from "./rows.ts";
import {
  type EdgeRow,
  type EvictableRow,
  one,
  type SessionRow,
  type Statements,
  type StreamRow,
  type TotalsRow,
} from "./statements.ts";
import type { Meta } from "./takeover.ts";

/** How many are kept; those that are followed stay beyond that. */
export interface CacheBounds {
  readonly sessions: number;
  readonly streams: number;
}

export interface StreamEntry {
  /** Of the row in `streams`. */
  readonly id: number;
  state: StreamState;
  /** Log time; `undefined` while a call runs, and once the stream was evicted whole. */
  finishedAtMs: number | undefined;
  /** Set: a cancellation finished it, and its events are not evicted yet. */
  cancelledAtMs: number | undefined;
  /** As the row has them. */
  states: string;
  runs: StreamState["runs"];
  /** Newest events, up to the head, while the stream is followed. */
  recent: RecentEvents | undefined;
}

export interface RecentEvents {
  readonly events: LoggedEvent[];
  readonly sizes: number[];
  bytes: number;
}

/** What the session retains. */
export interface Totals {
  /** Notifications and requests. */
  events: number;
  bytes: number;
  responseBytes: number;
}

export interface SessionEntry {
  /** Of the row in `sessions`. */
  readonly id: number;
  state: SessionState;
  isPurged: boolean;
  readonly streams: Map<number, StreamEntry>;
  /** Counted when first needed. */
  totals: Totals | undefined;
  /** Streams with a running call, rising; found when first needed. */
  unfinished: Set<number> | undefined;
  /** As the row has them: those below `before`, when it was written. */
  noted: { readonly streams: readonly number[]; readonly before: number };
  /** What a cap may evict next, read ahead; unset to begin again at the oldest. */
  evictable: { readonly rows: EvictableRow[]; after: number } | undefined;
}

export interface Book {
  readonly meta: Meta;
  session(id: SessionId): SessionEntry | undefined;
  /** What is kept of a session, without reading. */
  peek(id: SessionId): SessionEntry | undefined;
  stream(entry: SessionEntry, stream: number): StreamEntry | undefined;
  totals(entry: SessionEntry): Totals;
  addSession(entry: SessionEntry): void;
  addStream(entry: SessionEntry, stream: StreamEntry): void;
  /** It is read again when it is asked for again. */
  forgetStream(entry: SessionEntry, stream: StreamEntry): void;
  drop(id: SessionId): void;
  clear(): void;
  /** Back within the bounds. Entries that were handed out before are not to be used after. */
  trim(): void;
}

export function createBook(
  run: Statements,
  meta: Meta,
  followers: Followers,
  dropRecent: (stream: StreamEntry) => void,
  bounds: CacheBounds,
): Book {
  // Least recently used first, once there are many: to keep the order has a price.
  const sessions = new Map<SessionId, SessionEntry>();
  let streamCount = 0;
  const isHalfFull = () => sessions.size > bounds.sessions / 2 || streamCount > bounds.streams / 2;

  const forgetStream = (entry: SessionEntry, stream: StreamEntry) => {
    dropRecent(stream);
    entry.streams.delete(stream.state.stream);
    streamCount -= 1;
  };
  const drop = (id: SessionId) => {
    const entry = sessions.get(id);
    if (entry === undefined) return;
    for (const stream of [...entry.streams.values()]) forgetStream(entry, stream);
    sessions.delete(id);
  };
  const addSession = (entry: SessionEntry) => void sessions.set(entry.state.session, entry);
  const addStream = (entry: SessionEntry, stream: StreamEntry) => {
    entry.streams.set(stream.state.stream, stream);
    streamCount += 1;
  };

  return {
    meta,
    peek: (id) => sessions.get(id),
    session: (id) => {
      const kept = sessions.get(id);
      const entry = kept ?? readSession(run, id);
      if (entry === undefined) return undefined;
      if (kept !== undefined) {
        if (!isHalfFull()) return kept;
        sessions.delete(id);
      }
      addSession(entry);
      return entry;
    },
    stream: (entry, stream) => {
      const kept = entry.streams.get(stream);
      if (kept !== undefined) return kept;
      const read = readStream(run, meta, entry.id, stream);
      if (read !== undefined) addStream(entry, read);
      return read;
    },
    totals: (entry) => {
      entry.totals ??= readTotals(run, entry.id);
      return entry.totals;
    },
    addSession,
    addStream,
    forgetStream,
    drop,
    clear: () => {
      for (const id of [...sessions.keys()]) drop(id);
    },
    trim: () => {
      if (streamCount <= bounds.streams && sessions.size <= bounds.sessions) return;
      for (const [id, entry] of sessions) {
        const isOver = streamCount > bounds.streams * 0.9;
        if (!isOver && sessions.size <= bounds.sessions) return;
        if (isOver) {
          for (const stream of [...entry.streams.values()]) {
            if (!followers.isFollowed(id, stream.state.stream)) forgetStream(entry, stream);
          }
        }
        if (sessions.size > bounds.sessions && !followers.isSessionFollowed(id)) drop(id);
      }
    },
  };
}

function readSession(run: Statements, id: SessionId): SessionEntry | undefined {
  const row = one<SessionRow>(run.session, id);
  if (row === undefined) return undefined;
  const isPurged = row.purge > 0;
  return {
    id: row.id,
    state: {
      session: id,
      tag: row.tag,
      principal: row.principal,
      data: row.data,
      createdAtMs: row.created_at_ms,
      ...(row.ended === null ? {} : { ended: row.ended as NonNullable<SessionState["ended"]> }),
      nextStream: isPurged ? 0 : (row.stream_max ?? -1) + 1,
    },
    isPurged,
    streams: new Map(),
    totals: undefined,
    unfinished: undefined,
    noted: {
      streams: JSON.parse(row.unfinished) as number[],
      before: row.unfinished_before,
    },
    evictable: undefined,
  };
}

function readStream(
  run: Statements,
  meta: Meta,
  session: number,
  stream: number,
): StreamEntry | undefined {
  const row = one<StreamRow>(run.stream, session, stream);
  if (row === undefined) return undefined;
  const first = one<EdgeRow>(run.firstEvent, session, stream);
  const last = one<EdgeRow>(run.lastEvent, session, stream);
  const head = last?.position ?? row.evicted_through;
  const evictedThrough = first === undefined ? row.evicted_through : first.position - 1;
  const calls = readCalls(row.calls, row.states, last?.is_last === 1 ? last.position : 0);
  const runs = effectiveRuns(readRuns(row.runs), row.generation, meta);
  const cancelledAtMs = row.cancelled_at_ms ?? undefined;
  return {
    id: row.id,
    state: {
      stream,
      calls,
      runs: pruneRuns(runs, evictedThrough),
      head,
      evictedThrough,
      writtenThrough: row.written_through,
      isFinished: calls.length > 0 && calls.every((call) => call.state !== "running"),
    },
    finishedAtMs: last?.is_last === 1 ? last.at_ms : cancelledAtMs,
    cancelledAtMs,
    states: row.states,
    runs,
    recent: undefined,
  };
}

function readTotals(run: Statements, session: number): Totals {
  const row = one<TotalsRow>(run.totals, session);
  return {
    events: row?.events ?? 0,
    bytes: row?.bytes ?? 0,
    responseBytes: row?.response_bytes ?? 0,
  };
}
