-- Owns a session no more, if it is owned under this fence; every node is told.
--
-- KEYS  1 session
-- ARGV  1 fence  2 channel of all nodes
local m = redis.call('HMGET', KEYS[1], 'session', 'owner', 'fence')
if m[2] and m[3] == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'owner')
  redis.call('PUBLISH', ARGV[2], m[1])
end
