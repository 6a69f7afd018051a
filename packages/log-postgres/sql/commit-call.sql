-- Call commit (commit.sql says what comes in and out), on one generation of the log.
--
-- In:  $1 groups, $2 opened, $3 changed, $4 events, $5 claims, $6 entries, $7 census, $8 bodies,
--      $9 node, $10 generation, $11 events_max, $12 bytes_max, $13 window_ms, $14 now_ms,
--      $15 expired_ms
-- Out: the rows of commit; none if the log is in another generation by now
select c.* from holdfast.meta m, lateral holdfast.commit($1::json, $2::json, $3::json, $4::json,
  $5::json, $6::json, $7::json, $8::bytea, $9::text, m.generation, $11::bigint, $12::bigint,
  $13::bigint, $14::bigint, $15::bigint) c
where m.generation = $10::bigint
