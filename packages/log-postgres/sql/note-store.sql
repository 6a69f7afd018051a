-- Note which store this is, unless another node has done so first.
--
-- In:  $1 the store as it is, $2 the generation on which that was found, $3 whether acknowledged
--      events may be lost, $4 an incarnation to vouch for what is left of them
-- Out: one row if it was noted
update holdfast.meta m set store = $1::jsonb,
  generation = m.generation + $3::boolean::int,
  loss_generation = case when $3::boolean then m.generation + 1 else m.loss_generation end,
  loss_incarnation = case when $3::boolean then $4::text else m.loss_incarnation end
where m.generation = $2::bigint and m.store is distinct from $1::jsonb
returning m.generation
