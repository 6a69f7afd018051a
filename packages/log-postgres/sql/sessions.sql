-- Sessions by name, as the log plans on them.
--
-- In:  $1 names
-- Out: one row for each that is there
select s.id, s.name, s.tag, s.principal, s.data, s.created_at_ms, s.ended, s.purge, s.version,
  s.writes, s.next_stream, s.response_bytes, s.owner, s.fence, s.incarnation, s.generation,
  s.running_calls, s.running_streams, s.inbox_head, s.inbox_entries, s.inbox_bytes
from holdfast.sessions s where s.name = any($1::text[])
