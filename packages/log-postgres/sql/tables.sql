-- Step 1 of the schema: every table and index. A step that was ever released is never edited; the
-- next change is a step more (schema.ts).
--
-- `holdfast.` stands for the schema of the log. Whatever comes from outside is bytea, UTF-8: `text`
-- takes no NUL, and the database may have another encoding. Times are log time, milliseconds, unless
-- they say otherwise. Columns that change with every commit are in no index, so that their updates
-- stay on the page (HOT); `fillfactor` leaves room for that.

create table holdfast.meta (
  id smallint primary key check (id = 1),
  schema_version integer not null,
  generation bigint not null,         -- rises with each possible loss; starts at 1
  loss_generation bigint not null,    -- the last one that a possible loss began; 0 for none
  loss_incarnation text not null,     -- what vouches for all that was written before it
  store jsonb,                        -- which store this was when it was last seen (identity.ts)
  log_ms bigint not null,             -- log time that had passed when it was last told,
  told_at timestamptz not null,       -- by the store's clock,
  told_by text not null               -- by which node
);
insert into holdfast.meta values (1, 1, 1, 0, '', null, 0, clock_timestamp(), '');

create table holdfast.nodes (
  id text primary key,
  lease_end timestamptz not null      -- by the store's clock; over is over
);

create table holdfast.sessions (
  id bigint generated always as identity primary key,
  name text collate "C" not null unique,  -- a secret: what Mcp-Session-Id holds
  tag text not null,
  principal bytea not null,
  data bytea not null,
  created_at_ms bigint not null,      -- wall clock
  ended text,
  ended_at_ms bigint,
  purge smallint not null default 0,  -- 0 readable, 1 being purged, 2 only a tombstone
  touched_at_ms bigint not null,
  rest smallint not null,             -- 0 never used, 1 used, 2 used, waits for its events' window
  rest_at_ms bigint not null,         -- of the last touch; for 2, of the newest event
  version bigint not null default 1,  -- rises with every change of the session or its streams
  writes bigint[] not null,           -- names of the newest writes, oldest first
  owner text,                         -- the node that runs it, alive or not; null: released
  fence bigint not null,              -- the owner's token: 1 for the creator, one more each time
  incarnation text not null,          -- drawn when it was last taken over,
  generation bigint not null,         -- of the log, at that time
  next_stream bigint not null,
  seq bigint not null,                -- newest event's, storage order within the session
  newest_at_ms bigint not null,       -- no event is stamped before the one before it
  shielded_seq bigint not null default 0,  -- no cap can take an event up to here
  events bigint not null default 0,   -- retained notifications and requests
  bytes bigint not null default 0,    -- of all that is retained
  response_bytes bigint not null default 0,
  running_calls bigint not null default 0,
  running_streams bigint not null default 0,
  inbox_head bigint not null default 0,     -- number of the newest entry that there ever was
  inbox_entries bigint not null default 0,
  inbox_bytes bigint not null default 0,
  taken_through bigint not null default 0   -- entries up to here are with the owner
) with (fillfactor = 60);
create index sessions_resting on holdfast.sessions (rest, rest_at_ms, id) where ended is null;
create index sessions_ended on holdfast.sessions (ended_at_ms) where purge < 2;
create index sessions_over on holdfast.sessions (ended_at_ms) where purge = 2;
create index sessions_waiting on holdfast.sessions (owner)
  where inbox_head > taken_through and ended is null;

create table holdfast.streams (
  session bigint not null,
  stream bigint not null,
  calls bytea not null,               -- JSON of CallState[]; empty for the standalone stream
  runs text not null,                 -- from:incarnation, rising
  generation bigint not null,         -- of the log, when the runs were written
  head bigint not null,
  evicted_through bigint not null,
  written_through bigint not null,
  viewer text,                        -- the newest viewport that was attached
  finished_at_ms bigint,              -- null while a call runs
  aging_at_ms bigint,                 -- the same, until nothing of the stream is retained
  primary key (session, stream)
) with (fillfactor = 60);
create index streams_running on holdfast.streams (session, stream)
  where finished_at_ms is null and stream > 0;
create index streams_aging on holdfast.streams (aging_at_ms) where aging_at_ms is not null;

create table holdfast.events (
  session bigint not null,
  stream bigint not null,
  position bigint not null,
  seq bigint not null,
  kind smallint not null,             -- 0 notification, 1 request, 2 response
  at_ms bigint not null,
  bytes integer not null,
  text bytea not null,
  primary key (session, stream, position)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
create unique index events_stored on holdfast.events (session, seq);
create index events_standalone on holdfast.events (at_ms) where stream = 0;

create table holdfast.inbox (
  session bigint not null,
  number bigint not null,
  sender text not null,               -- a node
  stream bigint,                      -- that was opened with it
  text bytea not null,
  primary key (session, number)
) with (autovacuum_vacuum_scale_factor = 0.05);

create table holdfast.claims (
  scope bytea not null,
  key bytea not null,
  digest bytea not null,
  session text not null,              -- its name: a claim outlives the row
  stream bigint not null,
  call integer not null,
  request bytea not null,             -- JSON of Call
  response bytea,                     -- set: answered
  unknown text,                       -- set: the reason
  settled_at_ms bigint,               -- null while the call runs
  primary key (scope, key)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index claims_settled on holdfast.claims (settled_at_ms) where settled_at_ms is not null;

-- How many sessions are live, by principal; in slots, so that nodes do not wait for one another.
create table holdfast.census (
  principal bytea not null,
  slot smallint not null,
  live bigint not null,
  primary key (principal, slot)
) with (fillfactor = 50);
