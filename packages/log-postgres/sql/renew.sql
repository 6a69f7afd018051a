-- Live on. A lease that was over stays over, also if nobody has noticed.
--
-- In:  $1 the node, $2 how long its lease runs from now on, milliseconds
-- Out: one row if it lives
update holdfast.nodes n set lease_end = clock_timestamp() + $2::double precision * interval '1 ms'
where n.id = $1::text and n.lease_end > clock_timestamp()
returning 1 as lives
