-- Evict, oldest first in the order of storage, until a session is within its caps or nothing is left
-- that they may take [C W-01] [C W-03]. The session's row is locked by the caller.
--
-- In:  of_session, and of `commit` the caps, window_ms, now_ms
-- Out: a row for each event that went: cause count or bytes, whether its window still ran, and when
--      it was appended
create or replace function holdfast.enforce_caps(
  of_session bigint, events_max bigint, bytes_max bigint, window_ms bigint, now_ms bigint
) returns table (
  stream bigint, "position" bigint, bytes bigint, cause text, is_breach boolean,
  at_ms bigint
) language plpgsql volatile as $$
#variable_conflict use_column
declare
  kept record;
  event record;
  own record;
  events_left bigint;
  bytes_left bigint;
  passed bigint;
begin
  select s.events, s.bytes, s.shielded_seq into kept from holdfast.sessions s
    where s.id = of_session;
  events_left := kept.events;
  bytes_left := kept.bytes;
  passed := kept.shielded_seq;
  for event in
    select e.seq, e.stream, e.position, e.kind, e.bytes, e.at_ms from holdfast.events e
    where e.session = of_session and e.seq > kept.shielded_seq order by e.seq
  loop
    exit when events_left <= events_max and bytes_left <= bytes_max;
    passed := event.seq;
    -- [C W-03] "an unexpired response stops it there": what is behind one waits for the sweep.
    continue when event.kind = 2;
    select s.evicted_through, s.finished_at_ms into own from holdfast.streams s
      where s.session = of_session and s.stream = event.stream;
    continue when event.position <> own.evicted_through + 1;
    delete from holdfast.events e
      where e.session = of_session and e.stream = event.stream and e.position = event.position;
    update holdfast.streams s set evicted_through = event.position
      where s.session = of_session and s.stream = event.stream;
    stream := event.stream;
    position := event.position;
    bytes := event.bytes;
    at_ms := event.at_ms;
    cause := case when events_left > events_max then 'count' else 'bytes' end;
    -- [C W-01] a stream of calls has one window, from its end on
    is_breach := case when event.stream = 0 then now_ms < event.at_ms + window_ms
      else own.finished_at_ms is null or now_ms < own.finished_at_ms + window_ms end;
    events_left := events_left - 1;
    bytes_left := bytes_left - event.bytes;
    return next;
  end loop;
  update holdfast.sessions s set events = events_left, bytes = bytes_left, shielded_seq = passed
    where s.id = of_session;
end
$$;
