-- The next entries of the inbox, for the owner alone; those that it has leave the inbox.
--
-- KEYS  1 session  9 inbox   (the others as in commit.lua)
-- ARGV  1 fence  2 number of the newest entry that it has  3 how many at most, 4 how many bytes
--       (one entry at least)
-- Reply { "absent" } | { "fenced" } | { "taken", entries… }
--       each entry is number, node, stream or "-", text, with a blank between them
local m = redis.call('HMGET', KEYS[1], 'tag', 'ended', 'fence', 'taken')
if not m[1] or m[2] then return { 'absent' } end
if m[3] ~= ARGV[1] then return { 'fenced' } end
dropEntries(tonumber(ARGV[2]))
local count, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local reply, bytes, last = { 'taken' }, 0, tonumber(m[4] or 0)
local page = redis.call('LRANGE', KEYS[9], 0, math.min(count, 500) - 1)
for _, entry in ipairs(page) do
  local number, rest = string.match(entry, '^(%d+) %S+ %S+ ()')
  bytes = bytes + #entry - rest + 1
  if #reply > 1 and bytes > room then break end
  last = math.max(last, tonumber(number))
  reply[#reply + 1] = entry
end
redis.call('HSET', KEYS[1], 'taken', whole(last))
return reply
