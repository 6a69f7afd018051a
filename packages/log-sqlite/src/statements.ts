/** Every SQL statement of the log's daily work, prepared once. Those of opening are in file.ts. */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

export interface SessionRow {
  readonly id: number;
  readonly tag: string;
  readonly principal: string;
  readonly data: string;
  readonly created_at_ms: number;
  readonly ended: string | null;
  readonly purge: number;
  readonly stream_max: number | null;
  readonly unfinished: string;
  readonly unfinished_before: number;
}

export interface StreamRow {
  readonly id: number;
  readonly calls: string;
  readonly states: string;
  readonly runs: string;
  readonly generation: number;
  readonly evicted_through: number;
  readonly written_through: number;
  readonly cancelled_at_ms: number | null;
}

export interface EdgeRow {
  readonly position: number;
  readonly is_last: number;
  readonly at_ms: number;
}

export interface TotalsRow {
  readonly events: number;
  readonly bytes: number;
  readonly response_bytes: number;
}

export interface EventRow {
  readonly position: number;
  readonly kind: number;
  readonly bytes: number;
  readonly text: string;
}

export interface EvictableRow {
  readonly seq: number;
  readonly stream: number;
  readonly position: number;
  readonly bytes: number;
  readonly at_ms: number;
}

export interface AgingRow extends EvictableRow {
  readonly session: number;
  readonly kind: number;
  readonly is_last: number;
}

export interface DeletedRow {
  readonly position: number;
  readonly kind: number;
  readonly bytes: number;
  readonly at_ms: number;
}

export const statementTexts = {
  begin: "begin immediate",
  commit: "commit",
  rollback: "rollback",
  setBase: "update meta set base_ms = ?",
  setClean: "update meta set base_ms = ?, is_clean = 1",

  session: `select id, tag, principal, data, created_at_ms, ended, purge,
    unfinished, unfinished_before,
    (select max(stream) from streams where session = sessions.id) as stream_max
    from sessions where name = ?`,
  liveAfter: "select name from sessions where name > ? and ended is null order by name limit ?",
  sessionName: "select name from sessions where id = ?",
  totals: `select count(*) filter (where kind < 2) as events, coalesce(sum(bytes), 0) as bytes,
    coalesce(sum(bytes) filter (where kind = 2), 0) as response_bytes
    from events where session = ?`,
  addSession: `insert into sessions (name, tag, principal, data, created_at_ms, rest,
    touched_at_ms, rest_at_ms) values (?, ?, ?, ?, ?, ?, ?, ?)`,
  setData: "update sessions set data = ? where id = ?",
  touchSession: `update sessions set rest = min(1, max(rest, ?)), touched_at_ms = ?,
    rest_at_ms = ? where id = ?`,
  noteUnfinished: "update sessions set unfinished = ?, unfinished_before = ? where id = ?",
  endSession: "update sessions set ended = ?, ended_at_ms = ? where id = ?",

  stream: `select id, calls, states, runs, generation, evicted_through, written_through,
    cancelled_at_ms from streams where session = ? and stream = ?`,
  firstEvent: `select position, is_last, at_ms from events where session = ? and stream = ?
    order by position limit 1`,
  lastEvent: `select position, is_last, at_ms from events where session = ? and stream = ?
    order by position desc limit 1`,
  addStream: `insert into streams (session, stream, calls, states, runs, generation,
    evicted_through, written_through, cancelled_at_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  setStream: `update streams set states = ?, runs = ?, generation = ?, written_through = ?,
    cancelled_at_ms = ? where id = ?`,
  unfinishedFrom: `select stream from streams as one where session = ? and stream >= ?
    and instr(states, 'r') > 0 and coalesce((select is_last from events
    where session = one.session and stream = one.stream order by position desc limit 1), 0) = 0
    order by stream`,
  setEvicted: "update streams set evicted_through = ? where id = ?",

  addEvent: `insert into events (seq, session, stream, position, kind, is_last, at_ms, bytes, text)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  events: `select position, kind, bytes, text from events
    where session = ? and stream = ? and position > ? order by position limit ?`,
  evictable: `select seq, stream, position, bytes, at_ms from events indexed by events_evictable
    where session = ? and kind < 2 and seq > ? order by seq limit ?`,
  deleteEvent: "delete from events where seq = ?",

  resting: `select id, name, touched_at_ms, rest_at_ms from sessions indexed by sessions_resting
    where ended is null and rest = ? and rest_at_ms <= ? and (rest_at_ms, id) > (?, ?)
    order by rest_at_ms, id limit ?`,
  newestEvent: "select count(*) as events, max(seq) as seq from events where session = ?",
  eventTime: "select at_ms from events where seq = ?",
  setRest: "update sessions set rest = ?, rest_at_ms = ? where id = ?",

  claim: `select digest, session, stream, call, request, response, unknown from claims
    where scope = ? and key = ? and (settled_at_ms is null or settled_at_ms > ?)`,
  putClaim: `insert into claims (scope, key, digest, session, stream, call, request, response,
    unknown, settled_at_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (scope, key) do update set digest = excluded.digest, session = excluded.session,
    stream = excluded.stream, call = excluded.call, request = excluded.request,
    response = excluded.response, unknown = excluded.unknown,
    settled_at_ms = excluded.settled_at_ms`,
  ledgerBytes: "select bytes from ledger where id = 1",
  expireClaims: `delete from claims where id in (select id from claims where settled_at_ms <= ?
    order by settled_at_ms limit ?) returning octet_length(response) as bytes`,

  aging: `select seq, session, stream, position, kind, is_last, at_ms, bytes from events
    where seq > ? order by seq limit ?`,
  deletePrefix: `delete from events where seq in (select seq from events
    where session = ? and stream = ? and position <= ? order by position limit ?)
    returning position, kind, bytes, at_ms`,
  finishEvicted: `update streams set evicted_through = ?, states = replace(states, 'r', 'a' || ?)
    where session = ? and stream = ?`,
  setStandaloneEvicted: "update streams set evicted_through = ? where session = ? and stream = 0",
  cancelled: `select id, session, stream, evicted_through from streams
    where cancelled_at_ms <= ? order by cancelled_at_ms limit ?`,
  cancelledEvicted: `update streams set evicted_through = max(evicted_through, ?),
    cancelled_at_ms = null where id = ?`,

  toPurge: `select id, name from sessions where ended_at_ms <= ? and purge < 2
    order by ended_at_ms limit 1`,
  startPurge: "update sessions set purge = 1, data = '', unfinished = '[]' where id = ?",
  purgeEvents: `delete from events where seq in (select seq from events where session = ? limit ?)
    returning bytes`,
  purgeStreams: `delete from streams where id in (select id from streams
    where session = ? limit ?)`,
  endPurge: "update sessions set purge = 2 where id = ?",
  deleteTombstones: `delete from sessions where id in (select id from sessions
    where purge = 2 and ended_at_ms <= ? order by ended_at_ms limit ?) returning name`,
} as const;

export type Statements = Readonly<Record<keyof typeof statementTexts, StatementSync>>;

export function prepareStatements(db: DatabaseSync): Statements {
  const prepared = Object.entries(statementTexts).map(
    ([name, text]) => [name, db.prepare(text)] as const,
  );
  return Object.fromEntries(prepared) as Statements;
}

/** The first row, in the shape that the statement's columns have. */
export function one<Row>(statement: StatementSync, ...values: SQLInputValue[]): Row | undefined {
  return statement.get(...values) as Row | undefined;
}

export function all<Row>(statement: StatementSync, ...values: SQLInputValue[]): Row[] {
  return statement.all(...values) as unknown[] as Row[];
}
