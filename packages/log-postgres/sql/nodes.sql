-- The nodes whose lease runs.
select n.id from holdfast.nodes n where n.lease_end > clock_timestamp()
