-- Be a node from now on.
--
-- In:  $1 the node, $2 how long its lease runs, milliseconds
insert into holdfast.nodes (id, lease_end)
values ($1::text, clock_timestamp() + $2::double precision * interval '1 ms')
on conflict do nothing
