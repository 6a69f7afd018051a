-- Call sweep (sweep.sql says what comes in and out).
--
-- In:  $1 now_ms, $2 window_ms, $3 purge_after_ms, $4 tombstone_ms, $5 key_ms, $6 cost_max
select s.* from holdfast.sweep($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint,
  $6::integer) s
