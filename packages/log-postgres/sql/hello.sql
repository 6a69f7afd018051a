-- Which store this connection has reached, and what the log last knew of it.
--
-- In:  nothing
-- Out: one row. `store` is what the log noted of the store when it last looked; the others are the
--      store as it is: it is another one, or an older state of it, if the first five differ.
--      A standby that was promoted, and a recovery to a point in time, begin a new timeline.
select m.generation, m.loss_generation, m.loss_incarnation, m.log_ms, m.store as noted,
  pg_is_in_recovery() as is_standby,
  (select c.system_identifier::text from pg_control_system() c) as system,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end
    as timeline,
  (select d.oid::text from pg_database d where d.datname = current_database()) as database,
  'holdfast.meta'::regclass::oid::text as table,
  extract(epoch from pg_postmaster_start_time())::text as started,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as standbys,
  current_setting('server_version_num')::integer as version,
  current_setting('server_version') as version_text
from holdfast.meta m
