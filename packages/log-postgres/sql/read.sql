-- What a viewport shows next, in one snapshot.
--
-- In:  $1 name of the session, $2 stream, $3 position after which, $4 how many events, $5 bytes
-- Out: first one row with the generation of the log, the session and, if it is there, the stream (`part` 0); then the events
--      (`part` 1), oldest first: as many as fit, one at least. No row: no such session.
with own as materialized (
  select s.id, s.tag, s.purge, s.ended, s.incarnation, s.generation from holdfast.sessions s where s.name = $1::text
),
lane as materialized (
  select s.* from own join holdfast.streams s on s.session = own.id and s.stream = $2::bigint
  where own.purge = 0
)
select 0 as part, own.tag, own.purge, own.ended, own.incarnation,
  own.generation as session_generation,
  (select m.generation from holdfast.meta m) as log_generation, lane.calls, lane.runs, lane.generation, lane.head,
  lane.evicted_through, lane.written_through, lane.viewer, lane.finished_at_ms,
  null::bigint as position, null::smallint as kind, null::bytea as text
from own left join lane on true
union all
select 1, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
  page.position, page.kind, page.text
from (
  select e.position, e.kind, e.text,
    sum(e.bytes) over (order by e.position) as sum, row_number() over (order by e.position) as row
  from lane join lateral (
    select e.position, e.kind, e.bytes, e.text from holdfast.events e
    where e.session = lane.session and e.stream = lane.stream and e.position > $3::bigint
    order by e.position limit $4::bigint
  ) as e on true
) as page
where page.sum <= $5::bigint or page.row = 1
order by part, position
