-- One bounded step of what time undoes: windows, sessions that are over, tombstones, keys.
--
-- In:  now_ms; how long a window, a session that is over, a tombstone and a key last, milliseconds
--      cost_max  rows that may go; a large one counts as several
-- Out: a row `evicted` for each stream that lost events: through which position, how many, of how
--      many bytes, the newest appended when; and last a row `behind` if there is more to do
--
-- Sessions that somebody writes to right now are passed over, not waited for: theirs is done by a
-- later step. So no commit waits for a sweep longer than one step takes.
create or replace function holdfast.sweep(
  now_ms bigint, window_ms bigint, purge_after_ms bigint, tombstone_ms bigint, key_ms bigint,
  cost_max integer
) returns table (
  what text, name text, stream bigint, through bigint, events bigint, bytes bigint,
  at_ms bigint
) language plpgsql volatile as $$
#variable_conflict use_column
declare
  cost_bytes constant integer := 65536;
  cost_left integer := cost_max;
  one record;
  gone record;
begin
  for one in
    select due.session, due.stream, due.is_call, n.name from (
      select d.session, 0::bigint as stream, false as is_call, min(d.at_ms) as at_ms from (
        select e.session, e.at_ms from holdfast.events e
        where e.stream = 0 and e.at_ms <= now_ms - window_ms order by e.at_ms limit cost_max
      ) as d group by d.session
      union all
      (select s.session, s.stream, true, s.aging_at_ms from holdfast.streams s
        where s.aging_at_ms <= now_ms - window_ms order by s.aging_at_ms limit cost_max)
    ) as due
    join holdfast.sessions n on n.id = due.session
    order by due.at_ms, due.session, due.stream
  loop
    exit when cost_left <= 0;
    perform from holdfast.sessions s where s.id = one.session for update skip locked;
    continue when not found;
    select * into gone from holdfast.evict_prefix(one.session, one.stream,
      case when not one.is_call then now_ms - window_ms end, cost_left, cost_bytes);
    cost_left := cost_left - gone.cost;
    if one.is_call and gone.is_whole then
      update holdfast.streams s set aging_at_ms = null
        where s.session = one.session and s.stream = one.stream;
      cost_left := cost_left - 1;
    end if;
    continue when gone.events = 0;
    return query select 'evicted', one.name, one.stream, gone.through, gone.events, gone.bytes,
      gone.at_ms;
  end loop;

  while cost_left > 0 loop
    select s.id, s.purge into one from holdfast.sessions s
      where s.ended_at_ms <= now_ms - purge_after_ms and s.purge < 2
      order by s.ended_at_ms limit 1 for update skip locked;
    exit when not found;
    cost_left := cost_left - holdfast.purge_session(one.id, cost_left, cost_bytes);
  end loop;

  if cost_left > 0 then
    with over as (
      delete from holdfast.sessions where id in (
        select s.id from holdfast.sessions s
        where s.purge = 2 and s.ended_at_ms <= now_ms - tombstone_ms
        order by s.ended_at_ms limit cost_left for update skip locked
      ) returning 1
    )
    select count(*) as rows into gone from over;
    cost_left := cost_left - gone.rows;
  end if;

  if cost_left > 0 then
    with free as (
      delete from holdfast.claims c using (
        select d.scope, d.key from holdfast.claims d where d.settled_at_ms <= now_ms - key_ms
        order by d.settled_at_ms limit cost_left for update skip locked
      ) as due
      where c.scope = due.scope and c.key = due.key
      returning coalesce(octet_length(c.response), 0) as bytes
    )
    select coalesce(sum(1 + f.bytes / cost_bytes), 0) as cost into gone from free f;
    cost_left := cost_left - gone.cost;
  end if;

  -- No node is asked for any more: it may be named as an owner, and is not alive either way.
  delete from holdfast.nodes n where n.id in (
    select d.id from holdfast.nodes d where d.lease_end < clock_timestamp() - interval '1 hour'
    limit cost_max for update skip locked
  );

  if cost_left <= 0 then
    return query select 'behind', null::text, null::bigint, null::bigint, null::bigint, null::bigint,
      null::bigint;
  end if;
end
$$;
