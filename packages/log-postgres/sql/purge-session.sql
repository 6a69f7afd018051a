-- A step towards leaving only the tombstone of a session. Its row is locked by the caller.
--
-- In:  cost_max, cost_bytes as for evict_prefix
-- Out: what it cost; at least 1
create or replace function holdfast.purge_session(
  of_session bigint, cost_max integer, cost_bytes integer
) returns integer language plpgsql volatile as $$
declare
  left_over integer := cost_max;
  gone record;
begin
  update holdfast.sessions s set purge = 1, data = ''::bytea, next_stream = 0,
    version = s.version + 1 where s.id = of_session and s.purge = 0;
  with went as (
    delete from holdfast.events e where (e.session, e.seq) in (
      select d.session, d.seq from holdfast.events d where d.session = of_session
      order by d.seq limit left_over
    ) returning e.bytes
  )
  select count(*) as rows, coalesce(sum(1 + w.bytes / cost_bytes), 0) as cost into gone from went w;
  if gone.rows >= left_over then return gone.cost; end if;
  left_over := left_over - gone.cost;
  if left_over <= 0 then return cost_max - left_over; end if;
  with went as (
    delete from holdfast.streams s where (s.session, s.stream) in (
      select d.session, d.stream from holdfast.streams d where d.session = of_session
      order by d.stream limit left_over
    ) returning 1
  )
  select count(*) as rows into gone from went;
  if gone.rows >= left_over then return cost_max; end if;
  left_over := left_over - gone.rows;
  with went as (
    delete from holdfast.inbox i where (i.session, i.number) in (
      select d.session, d.number from holdfast.inbox d where d.session = of_session
      order by d.number limit left_over
    ) returning 1
  )
  select count(*) as rows into gone from went;
  if gone.rows >= left_over then return cost_max; end if;
  left_over := left_over - gone.rows;
  update holdfast.sessions s set purge = 2, events = 0, bytes = 0, response_bytes = 0
    where s.id = of_session;
  return cost_max - left_over + 1;
end
$$;
