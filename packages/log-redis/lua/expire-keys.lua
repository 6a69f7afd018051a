-- Forgets keys whose time has passed, in one bounded step.
--
-- KEYS  1 ledger  2 when each of its keys may be looked at again
-- ARGV  1 log time  2 ttlMs  3 how many at most
-- Reply { how many it looked at, name and record of each that is still running … }
local now, ttlMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local names = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now - ttlMs), 'LIMIT', 0, ARGV[3])
local reply = { #names }
local gone = {}
for _, name in ipairs(names) do
  local record = redis.call('HGET', KEYS[1], name)
  local state, settledAt = string.match(record or '', '^%S+ (%a) (%d+) ')
  if state == 'r' then
    -- [C X-03] While its call runs no time passes for it; whether it does, its session knows.
    redis.call('ZADD', KEYS[2], ARGV[1], name)
    reply[#reply + 1] = name
    reply[#reply + 1] = record
  elseif state == nil or tonumber(settledAt) + ttlMs <= now then
    gone[#gone + 1] = name
  else
    redis.call('ZADD', KEYS[2], settledAt, name)
  end
end
if #gone > 0 then
  inChunks('HDEL', KEYS[1], gone)
  inChunks('ZREM', KEYS[2], gone)
end
return reply
