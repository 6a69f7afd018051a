-- Call tell (tell.sql says what comes in).
--
-- In:  $1 the channel, $2 the message
select holdfast.tell($1::text, $2::text)
