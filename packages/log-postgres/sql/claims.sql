-- What the ledger holds of keys.
--
-- In:  $1 scopes, $2 keys, in pairs; $3 a key that was settled then or before counts no longer
-- Out: one row for each that is held; `at` is the index of its pair, from 1
select i.at, c.digest, c.session, c.stream, c.call, c.request, c.response, c.unknown
from unnest($1::bytea[], $2::bytea[]) with ordinality as i (scope, key, at)
join holdfast.claims c on c.scope = i.scope and c.key = i.key
where c.settled_at_ms is null or c.settled_at_ms > $3::bigint
