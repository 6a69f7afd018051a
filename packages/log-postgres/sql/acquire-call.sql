-- Call acquire (acquire.sql says what comes in and out), on one generation of the log.
--
-- In:  $1 the session, $2 the node, $3 an incarnation, $4 the generation
-- Out: the row of acquire; none if the log is in another generation by now
select a.* from holdfast.meta m,
  lateral holdfast.acquire($1::text, $2::text, $3::text, m.generation) a
where m.generation = $4::bigint
