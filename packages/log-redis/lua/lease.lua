-- The lease by which a node lives, by the server's clock. Once it is over it never runs again.
--
-- KEYS  1 nodes: when the lease of each is over
-- ARGV  1 join | renew | leave | list  2 node  3 leaseMs  4 channel that tells of who left
-- Reply of join, renew, leave: 1 if it was there and its lease ran; of list: the nodes whose lease runs
local what, node = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if what == 'list' then return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. clock, '+inf') end

local ends = redis.call('ZSCORE', KEYS[1], node)
local runs = ends and tonumber(ends) > clock
if what == 'join' or (what == 'renew' and runs) then
  redis.call('ZADD', KEYS[1], string.format('%.0f', clock + tonumber(ARGV[3])), node)
elseif ends then
  redis.call('ZREM', KEYS[1], node)
end
if what == 'join' then
  -- Those that nobody saw go: kept for an hour, so that a node which asks late sees why.
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', clock - 3600000))
end
if what == 'leave' and ends then redis.call('PUBLISH', ARGV[4], node) end
return runs and 1 or 0
