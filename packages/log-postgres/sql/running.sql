-- Streams with a running call.
--
-- In:  $1 names of sessions
-- Out: one row for each, rising by number within a session
select n.name, s.stream, s.calls, s.runs, s.generation, s.head, s.evicted_through,
  s.written_through, s.viewer, s.finished_at_ms
from holdfast.sessions n
join holdfast.streams s on s.session = n.id and s.finished_at_ms is null and s.stream > 0
where n.name = any($1::text[]) and n.purge = 0
order by n.name, s.stream
