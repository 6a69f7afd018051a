-- Takes a session over whose owner is gone. Whether it is was asked before, and stays true.
--
-- KEYS  1 session  9 inbox   (the others as in commit.lua)
-- ARGV  1 node  2 the owner that is gone, or "" for none  3 incarnation from now on
--       4 generation of the log
-- Reply { "absent" } | { "held", owner } | { "owned", fence, "1" if it was taken over now }
local m = redis.call('HMGET', KEYS[1], 'tag', 'ended', 'owner', 'fence', 'taken')
if not m[1] or m[2] then return { 'absent' } end
local owner = m[3] or ''
if owner == ARGV[1] then return { 'owned', m[4], '0' } end
if owner ~= ARGV[2] then return { 'held', owner } end
local fence = whole(tonumber(m[4]) + 1)
-- [C X-05] What the former owner took, it may have begun: nobody is given it again.
dropEntries(tonumber(m[5] or 0))
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', fence, 'incarnation', ARGV[3],
  'generation', ARGV[4])
return { 'owned', fence, '1' }
