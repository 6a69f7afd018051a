-- Sessions that have to wait, or may rest longer than when they were put aside: order them anew. Not
-- those that changed meanwhile.
--
-- In:  $1 ids, $2 versions, $3 new states of rest, $4 new rest_at_ms; side by side
update holdfast.sessions s set rest = i.rest, rest_at_ms = i.rest_at_ms
from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[])
  as i (id, version, rest, rest_at_ms)
where s.id = i.id and s.version = i.version and s.ended is null
