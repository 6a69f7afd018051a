-- Live sessions in one state of rest, longest first, each with the time of its newest event.
--
-- In:  $1 state of rest, $2 rested since then or before, $3 and $4 the last one that was seen
--      (rest_at_ms, id), $5 how many
-- Out: one row for each; newest_at_ms is null if it retains no event
select s.id, s.name, s.touched_at_ms, s.rest_at_ms, s.version,
  (select e.at_ms from holdfast.events e where e.session = s.id order by e.seq desc limit 1)
    as newest_at_ms
from holdfast.sessions s
where s.ended is null and s.rest = $1::smallint and s.rest_at_ms <= $2::bigint
  and (s.rest_at_ms, s.id) > ($3::bigint, $4::bigint)
order by s.rest_at_ms, s.id limit $5::bigint
