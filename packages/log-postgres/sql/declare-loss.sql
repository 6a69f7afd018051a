-- The store came back older than what this node has seen: acknowledged events are lost.
--
-- In:  $1 the generation on which that was found, $2 an incarnation to vouch for what is left
-- Out: nothing; if another node has declared it already, nothing changes
update holdfast.meta m set generation = m.generation + 1, loss_generation = m.generation + 1,
  loss_incarnation = $2::text
where m.generation = $1::bigint
