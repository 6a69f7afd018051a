-- When a session was last in use, and when its newest retained event was appended.
--
-- KEYS  1 session  2 evictable
-- Reply nothing if it is over or not there; else
--       { session id, touched at, is used, newest event at or "" }, log time
local m = redis.call('HMGET', KEYS[1], 'session', 'ended', 'touchedAt', 'isUsed', 'responseAt')
if not m[1] or m[2] then return {} end
local newest = m[5] and tonumber(m[5])
local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
if last[2] then
  local at = math.floor(tonumber(last[2]) / perMillisecond)
  newest = math.max(newest or at, at)
end
return { m[1], m[3], m[4], newest and whole(newest) or '' }
