-- The claims of one group, all of them or none.
--
-- In:  of_group, and of `commit` groups, claims, bodies, expired_ms
-- Out: false: one of them is not as it was planned on; nothing has changed
--
-- how  new      nobody holds the key, or its time has passed
--      rerun    taken over from a call whose outcome is unknown
--      settle   the call that holds it has ended
create or replace function holdfast.write_claims(
  of_group integer, groups json, claims json, bodies bytea, expired_ms bigint
) returns boolean language plpgsql volatile as $$
declare
  owner text := groups -> (of_group - 1) ->> 'name';
  one record;
begin
  for one in
    select i.how, i.stream, i.call, i.unknown, i.settled_at_ms,
      i.held_session, i.held_stream, i.held_call,
      substring(bodies from i.scope_at for i.scope_bytes) as scope,
      substring(bodies from i.key_at for i.key_bytes) as key,
      substring(bodies from i.digest_at for i.digest_bytes) as digest,
      substring(bodies from i.request_at for i.request_bytes) as request,
      substring(bodies from i.response_at for i.response_bytes) as response
    from json_to_recordset(claims) as i (g integer, how text, stream bigint, call integer,
      unknown text, settled_at_ms bigint, held_session text, held_stream bigint, held_call integer,
      scope_at integer, scope_bytes integer, key_at integer, key_bytes integer,
      digest_at integer, digest_bytes integer, request_at integer, request_bytes integer,
      response_at integer, response_bytes integer)
    where i.g = of_group
    order by 9, 10
  loop
    if one.how = 'new' then
      insert into holdfast.claims as c (scope, key, digest, session, stream, call, request,
        response, unknown, settled_at_ms)
      values (one.scope, one.key, one.digest, owner, one.stream, one.call, one.request,
        one.response, one.unknown, one.settled_at_ms)
      on conflict (scope, key) do update set digest = excluded.digest, session = excluded.session,
        stream = excluded.stream, call = excluded.call, request = excluded.request,
        response = excluded.response, unknown = excluded.unknown,
        settled_at_ms = excluded.settled_at_ms
      where c.settled_at_ms <= expired_ms;
    else
      update holdfast.claims c set digest = one.digest, session = owner, stream = one.stream,
        call = one.call, request = one.request, response = one.response, unknown = one.unknown,
        settled_at_ms = one.settled_at_ms
      where c.scope = one.scope and c.key = one.key and c.session = one.held_session
        and c.stream = one.held_stream and c.call = one.held_call and c.response is null
        and (c.unknown is not null) = (one.how = 'rerun');
    end if;
    if not found then
      raise exception using errcode = 'HF001';
    end if;
  end loop;
  return true;
exception
  when sqlstate 'HF001' then return false;
end
$$;
