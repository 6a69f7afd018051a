-- Sessions of a node whose inbox has entries that were not taken.
--
-- In:  $1 the node, $2 how many
select s.name from holdfast.sessions s
where s.owner = $1::text and s.inbox_head > s.taken_through and s.ended is null limit $2::bigint
