-- Wake the other nodes. A hint and nothing more: it may be lost, and nothing is wrong then.
--
-- In:  channel, and a message of less than 8000 bytes (messages.ts)
--
-- In a transaction of its own, after what it tells of: a transaction that notifies holds a lock of
-- the whole cluster while it commits, and commits of events would queue for it.
create or replace function holdfast.tell(channel text, message text) returns void
language sql volatile as $$
  select pg_notify(channel, message)
$$;
