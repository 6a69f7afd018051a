-- Carry out writes of several sessions, each whole or not at all, in one transaction.
--
-- In:  groups   one a session: who writes what to it, and which version it was planned on
--      opened, changed   streams, new ones and others
--      events, claims, entries, census   the other rows; in each `g` names the group
--      bodies   the texts of all rows; they are named by their offset (from 1) and length in bytes
--      node     who commits
--      generation   of the log, as the plans have it
--      events_max, bytes_max, window_ms, now_ms   the caps, and what of them is a breach
--      expired_ms   a key that was settled then or before is free
-- Out: one row `term` if the log is in another generation by now: nothing was done. Else a row for each
--      group that was not stale:
--        done      it took effect: id and new version of the session
--        repeated  this write has taken effect before: its reply was lost
--        fenced    another owner holds the session
--      and a row `evicted` for each event that a cap took. A group without a row is stale: the session
--      is not there, or not at that version; or a key is not as planned. Nothing of it was done.
--
-- Rows are locked in one order everywhere: sessions, new sessions, claims, census. What is not needed
-- for the common write, an event on a stream that is there, is asked for by an `if` and no statement.
create or replace function holdfast.commit(
  groups json, opened json, changed json, events json, claims json, entries json, census json,
  bodies bytea, node text, generation bigint,
  events_max bigint, bytes_max bigint, window_ms bigint, now_ms bigint, expired_ms bigint
) returns table (
  g integer, what text, session bigint, version bigint,
  stream bigint, "position" bigint, bytes bigint, cause text, is_breach boolean, at_ms bigint
) language plpgsql volatile as $$
#variable_conflict use_column
declare
  ids bigint[] := array_fill(0::bigint, array[json_array_length(groups)]);  -- 0: not carried out
  bases bigint[] := ids;                                -- newest seq of the session before
  floors bigint[] := ids;                               -- log time of its newest event before
  made bigint[];
  one record;
begin
  if not exists (select from holdfast.meta m where m.generation = commit.generation) then
    g := 0;
    what := 'term';
    return next;
    return;
  end if;

  for one in
    select i.g, i.version as planned, i.fence as shown, s.id, s.version, s.fence, s.seq,
      s.newest_at_ms, i.write = any(s.writes) as is_repeated
    from json_to_recordset(groups) as i (g integer, session bigint, version bigint, fence bigint,
      write bigint)
    join holdfast.sessions s on s.id = i.session
    order by s.id for update of s
  loop
    if one.is_repeated or (one.shown <> 0 and one.shown <> one.fence) then
      g := one.g;
      what := case when one.is_repeated then 'repeated' else 'fenced' end;
      session := one.id;
      version := one.version;
      return next;
    elsif one.version = one.planned then
      ids[one.g] := one.id;
      bases[one.g] := one.seq;
      floors[one.g] := one.newest_at_ms;
    end if;
  end loop;

  if 0 = any(ids) then
    with made as (
      insert into holdfast.sessions (name, tag, principal, data, created_at_ms, touched_at_ms,
        rest, rest_at_ms, version, writes, owner, fence, incarnation, generation, next_stream, seq,
        newest_at_ms)
      select i.name, i.tag, substring(bodies from i.principal_at for i.principal_bytes),
        substring(bodies from i.data_at for i.data_bytes), i.created_at_ms, i.at_ms, 0, i.at_ms,
        0, array[]::bigint[], node, 1, i.incarnation, commit.generation, 0, 0, 0
      from json_to_recordset(groups) as i (g integer, session bigint, name text, tag text,
        principal_at integer, principal_bytes integer, data_at integer, data_bytes integer,
        created_at_ms bigint, at_ms bigint, incarnation text)
      where i.session is null
      order by i.name
      on conflict do nothing
      returning id, name
    )
    select array_agg(coalesce(made.id, ids[i.g]) order by i.g) into made
    from json_to_recordset(groups) as i (g integer, session bigint, name text)
    left join made on i.session is null and made.name = i.name;
    ids := made;
  end if;

  if json_array_length(claims) > 0 then
    for one in
      select distinct i.g from json_to_recordset(claims) as i (g integer)
      where ids[i.g] > 0 order by i.g
    loop
      if not holdfast.write_claims(one.g, groups, claims, bodies, expired_ms) then
        delete from holdfast.sessions s where s.id = ids[one.g] and s.version = 0;
        ids[one.g] := 0;
      end if;
    end loop;
  end if;

  if json_array_length(opened) > 0 then
    insert into holdfast.streams (session, stream, calls, runs, generation, head, evicted_through,
      written_through, viewer, finished_at_ms, aging_at_ms)
    select ids[i.g], i.stream, substring(bodies from i.calls_at for i.calls_bytes), i.runs,
      i.generation, i.head, 0, i.written_through, i.viewer, i.finished_at_ms, i.finished_at_ms
    from json_to_recordset(opened) as i (g integer, stream bigint, calls_at integer,
      calls_bytes integer, runs text, generation bigint, head bigint, written_through bigint,
      viewer text, finished_at_ms bigint)
    where ids[i.g] > 0;
  end if;

  if json_array_length(changed) > 0 then
    update holdfast.streams s set
      calls = case when i.calls_at is null then s.calls
        else substring(bodies from i.calls_at for i.calls_bytes) end,
      runs = i.runs, generation = i.generation, head = i.head,
      written_through = i.written_through, viewer = i.viewer,
      finished_at_ms = coalesce(s.finished_at_ms, i.finished_at_ms),
      aging_at_ms = coalesce(s.aging_at_ms,
        case when s.finished_at_ms is null then i.finished_at_ms end)
    from json_to_recordset(changed) as i (g integer, stream bigint, calls_at integer,
      calls_bytes integer, runs text, generation bigint, head bigint, written_through bigint,
      viewer text, finished_at_ms bigint)
    where ids[i.g] > 0 and s.session = ids[i.g] and s.stream = i.stream;
  end if;

  if json_array_length(events) > 0 then
    insert into holdfast.events (session, stream, position, seq, kind, at_ms, bytes, text)
    select ids[i.g], i.stream, i.position, bases[i.g] + i.n, i.kind,
      greatest(i.at_ms, floors[i.g]), i.bytes, substring(bodies from i.text_at for i.bytes)
    from json_to_recordset(events) as i (g integer, stream bigint, position bigint, n integer,
      kind smallint, at_ms bigint, bytes integer, text_at integer)
    where ids[i.g] > 0;
  end if;

  if json_array_length(entries) > 0 then
    insert into holdfast.inbox (session, number, sender, stream, text)
    select s.id, s.inbox_head + i.n, node, i.stream, substring(bodies from i.text_at for i.bytes)
    from json_to_recordset(entries) as i (g integer, n integer, stream bigint, text_at integer,
      bytes integer)
    join holdfast.sessions s on s.id = ids[i.g]
    where ids[i.g] > 0;
  end if;

  for one in
    update holdfast.sessions s set
      version = s.version + 1,
      writes = (s.writes || i.write)[greatest(1, cardinality(s.writes) - 14):],
      data = case when i.session is null or i.data_at is null then s.data
        else substring(bodies from i.data_at for i.data_bytes) end,
      next_stream = i.next_stream,
      seq = s.seq + i.many,
      newest_at_ms = case when i.many > 0 then greatest(s.newest_at_ms, i.at_ms)
        else s.newest_at_ms end,
      events = s.events + i.events,
      bytes = s.bytes + i.bytes,
      response_bytes = s.response_bytes + i.response_bytes,
      running_calls = s.running_calls + i.running_calls,
      running_streams = s.running_streams + i.running_streams,
      inbox_head = s.inbox_head + i.sent,
      inbox_entries = s.inbox_entries + i.sent,
      inbox_bytes = s.inbox_bytes + i.sent_bytes,
      rest = case when i.touch is null then s.rest else least(1, greatest(s.rest, i.touch)) end,
      touched_at_ms = case when i.touch is null then s.touched_at_ms else i.at_ms end,
      rest_at_ms = case when i.touch is null then s.rest_at_ms else i.at_ms end,
      ended = coalesce(s.ended, i.ended),
      ended_at_ms = case when s.ended is null and i.ended is not null then i.at_ms
        else s.ended_at_ms end
    from json_to_recordset(groups) as i (g integer, session bigint, write bigint, data_at integer,
      data_bytes integer, next_stream bigint, many integer, events integer, bytes bigint,
      response_bytes bigint, running_calls integer, running_streams integer, sent integer,
      sent_bytes bigint, touch smallint, at_ms bigint, ended text)
    where ids[i.g] > 0 and s.id = ids[i.g]
    returning i.g, s.id, s.version,
      i.many > 0 and (s.events > events_max or s.bytes > bytes_max) as is_over
  loop
    g := one.g;
    what := 'done';
    session := one.id;
    version := one.version;
    return next;
    if one.is_over then
      return query
        select one.g, 'evicted', one.id, null::bigint, e.* from holdfast.enforce_caps(one.id,
          events_max, bytes_max, window_ms, now_ms) as e;
    end if;
  end loop;

  if json_array_length(census) > 0 then
    insert into holdfast.census as c (principal, slot, live)
    select b.principal, pg_backend_pid() % 16, sum(b.live) from (
      select substring(bodies from i.principal_at for i.principal_bytes) as principal, i.live
      from json_to_recordset(census) as i (g integer, principal_at integer,
        principal_bytes integer, live integer)
      where ids[i.g] > 0
    ) as b group by 1 order by 1
    on conflict (principal, slot) do update set live = c.live + excluded.live;
  end if;
end
$$;
