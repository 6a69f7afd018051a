/**
 * The tables, as steps from each version of the schema to the next. A step that was ever released
 * is never edited: the next change is a step more.
 *
 * Reads go by (session, stream, position), trimming by `seq`; nothing else is indexed on the way of
 * a call. What can be derived is not stored: the head of a stream is its newest event, and
 * `evicted_through`, `states` of a call that its last event answers, are written only when there is
 * no event left to tell.
 */
import type { DatabaseSync } from "node:sqlite";

/** "Hold", as SQLite's `application_id`: whose file this is. */
export const applicationId = 0x486f6c64;

const first = `
create table meta (
  id integer primary key check (id = 1),
  generation integer not null,       -- how often the log was opened
  boot_id text not null,             -- of the machine, when it was last opened
  durability text not null,          -- with which it was last opened
  is_clean integer not null,         -- it was closed since
  base_ms integer not null,          -- log time that has passed
  loss_generation integer not null,  -- the last open that found a possible loss; 0 for none
  loss_incarnation text not null     -- its incarnation
) strict;

create table sessions (
  id integer primary key,
  name text not null unique,
  tag text not null,
  principal text not null,
  data text not null,
  created_at_ms integer not null,    -- wall clock
  ended text,
  ended_at_ms integer,               -- log time
  purge integer not null default 0,  -- 0 readable, 1 being purged, 2 only a tombstone
  touched_at_ms integer not null,    -- log time
  rest integer not null,             -- 0 never used, 1 used, 2 used, waits for its events' window
  rest_at_ms integer not null,       -- log time: of the last touch; for 2, of the newest event
  unfinished text not null default '[]',        -- JSON: the unfinished streams below the next number
  unfinished_before integer not null default 0  -- from here on every stream has to be asked
) strict;
create index sessions_live on sessions (principal, ended) where ended is null;
create index sessions_resting on sessions (rest, rest_at_ms) where ended is null;
create index sessions_ended on sessions (ended_at_ms) where ended_at_ms is not null and purge < 2;
create index sessions_over on sessions (ended_at_ms) where purge = 2;

create table streams (
  id integer primary key,
  session integer not null,
  stream integer not null,
  calls text not null,               -- JSON; empty for the standalone stream
  states text not null,              -- one a call: r, c, or a and the position of its response
  runs text not null,                -- from:incarnation, rising
  generation integer not null,       -- the open at which the runs were written
  evicted_through integer not null,  -- holds while no event is retained
  written_through integer not null,
  cancelled_at_ms integer            -- log time; finished by a cancellation, not yet evicted
) strict;
create unique index streams_of on streams (session, stream);
create index streams_cancelled on streams (cancelled_at_ms) where cancelled_at_ms is not null;

create table events (
  seq integer primary key,           -- storage order over all sessions
  session integer not null,
  stream integer not null,
  position integer not null,
  kind integer not null,             -- 0 notification, 1 request, 2 response
  is_last integer not null,          -- it answers the last running call of its stream
  at_ms integer not null,            -- log time, never falling with seq
  bytes integer not null,
  text text not null
) strict;
create unique index events_of on events (session, stream, position);
create index events_evictable on events (session) where kind < 2;

create table claims (                -- the idempotency ledger
  id integer primary key,
  scope text not null,
  key text not null,
  digest text not null,
  session text not null,             -- its name: a claim outlives the row
  stream integer not null,
  call integer not null,
  request text not null,             -- JSON
  response text,                     -- set: answered
  unknown text,                      -- set: the reason
  settled_at_ms integer              -- log time; null while the call runs
) strict;
create unique index claims_of on claims (scope, key);
create index claims_settled on claims (settled_at_ms) where settled_at_ms is not null;
`;

/** What the ledger counts for, kept right by the database itself: 512 is `keyBytes`. */
const second = `
create table ledger (id integer primary key check (id = 1), bytes integer not null) strict;
insert into ledger select 1, coalesce(sum(512 + coalesce(octet_length(response), 0)), 0)
  from claims where settled_at_ms is not null;
create trigger claims_added after insert on claims when new.settled_at_ms is not null begin
  update ledger set bytes = bytes + 512 + coalesce(octet_length(new.response), 0);
end;
create trigger claims_changed after update on claims begin
  update ledger set bytes = bytes
    + iif(new.settled_at_ms is null, 0, 512 + coalesce(octet_length(new.response), 0))
    - iif(old.settled_at_ms is null, 0, 512 + coalesce(octet_length(old.response), 0));
end;
create trigger claims_gone after delete on claims when old.settled_at_ms is not null begin
  update ledger set bytes = bytes - 512 - coalesce(octet_length(old.response), 0);
end;
`;

export const migrations: readonly string[] = [first, second];

export const schemaVersion = migrations.length;

/** Bring a database to the newest schema, all steps or none. */
export function migrate(db: DatabaseSync, from: number): void {
  if (from === schemaVersion) return;
  db.exec("begin immediate");
  for (const step of migrations.slice(from)) db.exec(step);
  db.exec(`pragma application_id = ${applicationId}`);
  db.exec(`pragma user_version = ${schemaVersion}`);
  db.exec("commit");
}
