-- Own a session no more; nothing changes if another owns it by now.
--
-- In:  $1 the session, $2 the fence under which it was owned
-- Out: one row with the id of its row, if it was released just now
update holdfast.sessions s set owner = null, version = s.version + 1
where s.name = $1::text and s.fence = $2::bigint and s.owner is not null
returning s.id
