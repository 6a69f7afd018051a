-- What a session is called.
--
-- In:  $1 the id of its row
select s.name from holdfast.sessions s where s.id = $1::bigint
