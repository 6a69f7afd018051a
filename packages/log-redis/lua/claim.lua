-- Claims an idempotency key for a call that is about to be opened.
--
-- KEYS  1 ledger  2 when each of its keys may be looked at again
-- ARGV  1 log time  2 ttlMs  3 name of the key  4 token of the call  5 is it a rerun
--       6 the claim, as JSON
-- Reply nothing if it is claimed now; else the record that stands against it
--       A record: token, state (r running, a answered, u unknown), settled at, reason or "-", stream
--       or "-", the claim; a line break; the response. While a rerun is running, the record that it
--       took over stands in the place of the response.
local now, name, token = tonumber(ARGV[1]), ARGV[3], ARGV[4]
local record = redis.call('HGET', KEYS[1], name)
local before = ''
if record then
  local heldBy, state, settledAt = string.match(record, '^(%S+) (%a) (%d+) ')
  local isOver = state ~= 'r' and tonumber(settledAt) + tonumber(ARGV[2]) <= now
  if heldBy == token and state == 'r' then return {} end
  if not isOver then
    if not (ARGV[5] == '1' and state == 'u') then return { record } end
    before = record
  end
end
redis.call('HSET', KEYS[1], name, token .. ' r 0 - - ' .. ARGV[6] .. '\n' .. before)
redis.call('ZADD', KEYS[2], ARGV[1], name)
return {}
