-- The streams of a session that have a running call, rising.
--
-- KEYS  2 streams  6 running   (the others as in commit.lua)
-- Reply stream, text, calls, viewer or "" of each in turn
local reply = {}
for _, number in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
  local texts = redis.call('HMGET', KEYS[2], number, number .. ':c', number .. ':v')
  for _, one in ipairs({ number, texts[1], texts[2], texts[3] or '' }) do
    reply[#reply + 1] = one
  end
end
return reply
