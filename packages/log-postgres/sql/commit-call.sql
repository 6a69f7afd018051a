-- Call commit (commit.sql says what comes in and out).
--
-- In:  $1 groups, $2 opened, $3 changed, $4 events, $5 claims, $6 entries, $7 census, $8 bodies,
--      $9 node, $10 generation, $11 events_max, $12 bytes_max, $13 window_ms, $14 now_ms,
--      $15 expired_ms
select c.* from holdfast.commit($1::json, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json,
  $8::bytea, $9::text, $10::bigint, $11::bigint, $12::bigint, $13::bigint, $14::bigint,
  $15::bigint) c
