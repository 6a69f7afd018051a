-- The oldest events of a stream go. The session's row is locked by the caller.
--
-- In:  due_ms    only those that were appended then or before; null for all
--      cost_max  rows that may go; one of more than cost_bytes counts as several
-- Out: one row: how many went, of how many bytes, through which position, at which cost; whether
--      nothing is left; when the newest of them was appended
create or replace function holdfast.evict_prefix(
  of_session bigint, of_stream bigint, due_ms bigint, cost_max integer, cost_bytes integer
) returns table (
  events bigint, bytes bigint, through bigint, cost integer, is_whole boolean,
  at_ms bigint
) language plpgsql volatile as $$
#variable_conflict use_column
declare
  gone record;
begin
  with due as (
    select d.position from (
      select e.position, e.at_ms,
        sum(1 + e.bytes / cost_bytes) over (order by e.position) - e.bytes / cost_bytes as cost
      from holdfast.events e
      where e.session = of_session and e.stream = of_stream order by e.position limit cost_max
    ) as d
    where d.cost <= cost_max and (due_ms is null or d.at_ms <= due_ms)
  ),
  went as (
    delete from holdfast.events e
    where e.session = of_session and e.stream = of_stream and e.position in (select position from due)
    returning e.position, e.kind, e.bytes, e.at_ms
  )
  select count(*) as events, count(*) filter (where w.kind < 2) as counted,
    coalesce(sum(w.bytes), 0) as bytes,
    coalesce(sum(w.bytes) filter (where w.kind = 2), 0) as response_bytes,
    max(w.position) as through, max(w.at_ms) as at_ms, coalesce(sum(1 + w.bytes / cost_bytes), 0) as cost
  into gone from went w;

  if gone.events > 0 then
    update holdfast.streams s set evicted_through = gone.through
      where s.session = of_session and s.stream = of_stream;
    -- What a response shielded from the caps may be free now.
    update holdfast.sessions s set version = s.version + 1, shielded_seq = 0,
      events = s.events - gone.counted, bytes = s.bytes - gone.bytes,
      response_bytes = s.response_bytes - gone.response_bytes
      where s.id = of_session;
  end if;
  return query select gone.events::bigint, gone.bytes::bigint, gone.through::bigint,
    gone.cost::integer, not exists (select from holdfast.events e
      where e.session = of_session and e.stream = of_stream), gone.at_ms::bigint;
end
$$;
