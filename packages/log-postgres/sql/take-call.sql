-- Call take (take.sql says what comes in and out).
--
-- In:  $1 the session, $2 the fence, $3 after, $4 how many, $5 bytes
select t.* from holdfast.take($1::text, $2::bigint, $3::bigint, $4::bigint, $5::bigint) t
