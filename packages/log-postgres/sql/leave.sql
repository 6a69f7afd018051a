-- Be gone: what the node owns is free.
--
-- In:  $1 the node
-- Out: one row if it was there
delete from holdfast.nodes n where n.id = $1::text returning 1 as was_there
