-- Streams of sessions, by number.
--
-- In:  $1 names of sessions, $2 streams, in pairs
-- Out: one row for each that is there and not purged
select n.name, s.stream, s.calls, s.runs, s.generation, s.head, s.evicted_through,
  s.written_through, s.viewer, s.finished_at_ms
from unnest($1::text[], $2::bigint[]) as i (name, stream)
join holdfast.sessions n on n.name = i.name and n.purge = 0
join holdfast.streams s on s.session = n.id and s.stream = i.stream
