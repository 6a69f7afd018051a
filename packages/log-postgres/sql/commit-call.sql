-- Call commit (commit.sql says what comes in and out), on one generation of the log.
--
-- In:  $1 groups, $2 streams, $3 events, $4 claims, $5 entries, $6 bodies, $7 node, $8 generation,
--      $9 events_max, $10 bytes_max, $11 window_ms, $12 now_ms, $13 expired_ms
-- Out: the rows of commit; none at all if the log is in another generation by now
select c.* from holdfast.meta m, lateral holdfast.commit($1::json, $2::json, $3::json, $4::json,
  $5::json, $6::bytea, $7::text, m.generation, $9::bigint, $10::bigint, $11::bigint, $12::bigint,
  $13::bigint) c
where m.generation = $8::bigint
