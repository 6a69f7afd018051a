-- Own a session that is free: it names no owner, or one whose lease is over [C N-02] [C N-03].
--
-- In:  of_name      the session
--      node         who wants it
--      incarnation  begins if it is taken over
--      generation   of the log
-- Out: one row: `owned` with the fence, and whether it was taken over just now; `held` with the
--      owner; or `absent`
--
-- What the former owner had taken leaves the inbox: it may have begun with it.
create or replace function holdfast.acquire(
  of_name text, node text, incarnation text, generation bigint
) returns table (what text, owner text, fence bigint, is_taken_over boolean)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  held record;
  gone record;
begin
  select s.id, s.owner, s.fence, s.ended, s.taken_through into held from holdfast.sessions s
    where s.name = of_name for update;
  if not found or held.ended is not null then
    return query select 'absent', null::text, null::bigint, false;
    return;
  end if;
  if held.owner = node then
    return query select 'owned', node, held.fence, false;
    return;
  end if;
  if exists (
    select from holdfast.nodes n where n.id = held.owner and n.lease_end > clock_timestamp()
  ) then
    return query select 'held', held.owner, held.fence, false;
    return;
  end if;
  with went as (
    delete from holdfast.inbox i where i.session = held.id and i.number <= held.taken_through
    returning octet_length(i.text) as bytes
  )
  select count(*) as entries, coalesce(sum(w.bytes), 0) as bytes into gone from went w;
  update holdfast.sessions s set version = s.version + 1, owner = node, fence = s.fence + 1,
    incarnation = acquire.incarnation, generation = acquire.generation,
    inbox_entries = s.inbox_entries - gone.entries, inbox_bytes = s.inbox_bytes - gone.bytes
    where s.id = held.id;
  return query select 'owned', node, held.fence + 1, true;
end
$$;
