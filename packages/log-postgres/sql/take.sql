-- The next entries of an inbox, for the owner; no other will be given them.
--
-- In:  of_name    the session
--      of_fence   its owner's token
--      after      the newest entry that the owner has: up to here they leave the inbox
--      many, bytes_max   how many; at least one, however large
-- Out: one row first: `taken`, `fenced` or `absent`; then a row `entry` for each, in order
create or replace function holdfast.take(
  of_name text, of_fence bigint, after bigint, many bigint, bytes_max bigint
) returns table (what text, number bigint, sender text, stream bigint, "text" bytea)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  held record;
  gone record;
  one record;
  bytes_left bigint := bytes_max;
  last bigint;
begin
  select s.id, s.fence, s.ended into held from holdfast.sessions s
    where s.name = of_name for update;
  if not found or held.ended is not null or held.fence <> of_fence then
    return query select case when held.ended is null and held.id is not null then 'fenced'
      else 'absent' end, null::bigint, null::text, null::bigint, null::bytea;
    return;
  end if;
  with went as (
    delete from holdfast.inbox i where i.session = held.id and i.number <= after
    returning octet_length(i.text) as bytes
  )
  select count(*) as entries, coalesce(sum(w.bytes), 0) as bytes into gone from went w;
  return query select 'taken', null::bigint, null::text, null::bigint, null::bytea;
  for one in
    select i.number, i.sender, i.stream, i.text, octet_length(i.text) as bytes
    from holdfast.inbox i where i.session = held.id order by i.number limit many
  loop
    bytes_left := bytes_left - one.bytes;
    exit when bytes_left < 0 and last is not null;
    last := one.number;
    return query select 'entry', one.number, one.sender, one.stream, one.text;
  end loop;
  if gone.entries > 0 or last is not null then
    update holdfast.sessions s set taken_through = greatest(s.taken_through, last),
      inbox_entries = s.inbox_entries - gone.entries, inbox_bytes = s.inbox_bytes - gone.bytes
      where s.id = held.id;
  end if;
end
$$;
