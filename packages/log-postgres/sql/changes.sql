-- Where streams stand, for those who wait for news of them.
--
-- In:  $1 names of sessions, $2 streams, in pairs
-- Out: one row for each pair whose session is there; the stream's columns are null if it is not
select i.name, i.stream, n.ended is not null as is_over, s.head, s.evicted_through,
  s.finished_at_ms is not null as is_finished, s.viewer
from unnest($1::text[], $2::bigint[]) as i (name, stream)
join holdfast.sessions n on n.name = i.name
left join holdfast.streams s on s.session = n.id and s.stream = i.stream
