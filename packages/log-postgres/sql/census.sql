-- How many sessions are live.
--
-- In:  $1 the principal; null for all
-- Out: one row
select coalesce(sum(c.live), 0)::bigint as live from holdfast.census c
where $1::bytea is null or c.principal = $1::bytea
