-- A page of the live sessions, in the order of their names.
--
-- In:  $1 the last one of the page before; empty to begin, $2 how many
-- Out: one row for each, as in sessions.sql
select s.id, s.name, s.tag, s.principal, s.data, s.created_at_ms, s.ended, s.purge, s.version,
  s.writes, s.next_stream, s.response_bytes, s.owner, s.fence, s.incarnation, s.generation,
  s.running_calls, s.running_streams, s.inbox_head, s.inbox_entries, s.inbox_bytes
from holdfast.sessions s where s.name > $1::text and s.ended is null
order by s.name limit $2::bigint
