-- The store itself lost events of a stream: a key was dropped for memory, or deleted by hand. From
-- now on the stream says that all up to the last of them are gone [C R-08].
--
-- KEYS  1 session  2 streams  3 events  4 evictable   (the others as in commit.lua)
-- ARGV  1 stream
local number = ARGV[1]
local text = redis.call('HGET', KEYS[2], number)
if not text then return end
local stream = readStream(text)
local position = stream.head
while position > stream.evicted do
  if redis.call('HEXISTS', KEYS[3], number .. ':' .. whole(position)) == 0 then break end
  position = position - 1
end
if position == stream.evicted then return end
local responses = responsesOf(stream)
local bytes, response, evictable = 0, 0, 0
for gone = stream.evicted + 1, position do
  local field = number .. ':' .. whole(gone)
  -- Of what lies before it and is still there.
  local size = math.max(0, redis.call('HSTRLEN', KEYS[3], field) - 1)
  redis.call('HDEL', KEYS[3], field)
  bytes = bytes + size
  if responses[gone] then response = response + size end
  evictable = evictable + redis.call('ZREM', KEYS[4], field)
end
stream.evicted = position
redis.call('HSET', KEYS[2], number, writeStream(stream))
redis.call('HINCRBY', KEYS[1], 'evictable', 0 - evictable)
if redis.call('EXISTS', KEYS[3]) == 0 then
  -- With all of them gone it is known again what is retained: nothing.
  redis.call('HSET', KEYS[1], 'bytes', '0', 'responseBytes', '0')
else
  redis.call('HINCRBY', KEYS[1], 'bytes', whole(0 - bytes))
  redis.call('HINCRBY', KEYS[1], 'responseBytes', whole(0 - response))
end
