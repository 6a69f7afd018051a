-- Tell how much log time has passed, and hear how much others have told.
--
-- In:  $1 log time, milliseconds, $2 the node that tells it; empty when it stops, $3 how old what another has told may be
--      for it to be going on, milliseconds
-- Out: one row: what was told before, and what that is now if another node has told it
with before as (
  select m.log_ms, m.told_by not in ('', $2::text) as is_other,
    1000 * extract(epoch from clock_timestamp() - m.told_at) as age_ms
  from holdfast.meta m for update
)
update holdfast.meta m
set log_ms = greatest(m.log_ms, $1::bigint), told_at = clock_timestamp(), told_by = $2::text
from before returning before.log_ms,
  (before.log_ms + case when before.is_other and before.age_ms between 0 and $3::bigint
    then before.age_ms else 0 end)::bigint as now_ms
