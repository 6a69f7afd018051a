-- One bounded step of what time undoes in one session: windows, the purge, the tombstone.
--
-- KEYS  1 session  2 streams  3 events  4 evictable  5 finished  6 running  7 unsettled  8 void
--       9 inbox
-- ARGV  1 log time  2 windowMs  3 how many events at most  4 purgeAfterMs  5 tombstoneMs
--       6 generation of the log  7 the incarnation that found its last loss, or "-"
-- Reply { "gone" }: nothing is left, or nothing was there
--       { "unsettled", token, text … }: these keys have to be settled first
--       { "swept", session id, is more due, due at, is over, evictions }
--       evictions: stream, through, events, bytes, age of each in turn
local now, windowMs, left = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local generation = tonumber(ARGV[6])

local m = redis.call('HMGET', KEYS[1], 'session', 'ended', 'endedAt', 'purged')
if not m[1] then return { 'gone' } end
local unsettled = redis.call('HGETALL', KEYS[7])
if #unsettled > 0 then
  table.insert(unsettled, 1, 'unsettled')
  return unsettled
end
local endedAt = m[2] and tonumber(m[3])
if endedAt and endedAt + tonumber(ARGV[5]) <= now then
  redis.call('UNLINK', unpack(KEYS))
  return { 'gone' }
end
if endedAt and endedAt + tonumber(ARGV[4]) <= now then
  if not m[4] then
    redis.call('UNLINK', unpack(KEYS, 2))
    for _, writer in ipairs(split(redis.call('HGET', KEYS[1], 'writers') or '', ',')) do
      redis.call('HDEL', KEYS[1], 'by:' .. writer)
    end
    redis.call('HDEL', KEYS[1], 'writers')
    redis.call('HSET', KEYS[1], 'purged', '1', 'data', '', 'next', '0', 'calls', '0',
      'running', '0', 'waiting', '0', 'inboxBytes', '0')
  end
  return { 'swept', m[1], '0', whole(endedAt + tonumber(ARGV[5])), '1', {} }
end

local evictions, freed = {}, { bytes = 0, response = 0, evictable = 0, ofCalls = false }
local due = now + windowMs

-- Take events of the stream, oldest first, as long as `isDue` says so and there is room in the step.
local function drain(number, stream, isDue)
  local responses = responsesOf(stream)
  local fields, bytes, evictable = {}, 0, {}
  local position = stream.evicted
  while position < stream.head and #fields < left do
    local field = number .. ':' .. whole(position + 1)
    if not isDue(field) then break end
    position = position + 1
    local size = math.max(0, redis.call('HSTRLEN', KEYS[3], field) - 1)
    bytes = bytes + size
    fields[#fields + 1] = field
    if responses[position] then freed.response = freed.response + size
    else evictable[#evictable + 1] = field end
  end
  if #fields == 0 then return end
  local at = responses[position]
    or math.floor(tonumber(redis.call('ZSCORE', KEYS[4], fields[#fields]) or 0) / perMillisecond)
  inChunks('HDEL', KEYS[3], fields)
  if #evictable > 0 then inChunks('ZREM', KEYS[4], evictable) end
  left = left - #fields
  freed.bytes = freed.bytes + bytes
  freed.evictable = freed.evictable + #evictable
  freed.ofCalls = freed.ofCalls or number ~= '0'
  stream.evicted = position
  if stream.generation < generation then
    stream.runs = '0:' .. ARGV[7]
    stream.generation = generation
  end
  redis.call('HSET', KEYS[2], number, writeStream(stream))
  for _, one in ipairs({ number, whole(position), whole(#fields), whole(bytes),
    whole(now - at) }) do
    evictions[#evictions + 1] = one
  end
end

local standalone = redis.call('HGET', KEYS[2], '0')
if standalone then
  drain('0', readStream(standalone), function(field)
    local score = redis.call('ZSCORE', KEYS[4], field)
    if not score then return true end
    local endsAt = math.floor(tonumber(score) / perMillisecond) + windowMs
    if endsAt > now then due = math.min(due, endsAt) end
    return endsAt <= now
  end)
end
while left > 0 do
  local number = redis.call('LINDEX', KEYS[5], 0)
  if not number then break end
  local text = redis.call('HGET', KEYS[2], number)
  -- The store lost it: there is nothing to take.
  local stream = readStream(text or '0 0 0 0 0 0 c 0:-')
  if stream.finished + windowMs > now then
    due = math.min(due, stream.finished + windowMs)
    break
  end
  drain(number, stream, function() return true end)
  if stream.evicted < stream.head then break end
  redis.call('LPOP', KEYS[5])
end

if #evictions > 0 then
  redis.call('HINCRBY', KEYS[1], 'bytes', whole(0 - freed.bytes))
  redis.call('HINCRBY', KEYS[1], 'responseBytes', whole(0 - freed.response))
  redis.call('HINCRBY', KEYS[1], 'evictable', whole(0 - freed.evictable))
  -- What a response shielded from the caps may be free now.
  if freed.ofCalls then redis.call('HSET', KEYS[1], 'skipped', '0') end
end
if endedAt then due = math.min(due, endedAt + tonumber(ARGV[4])) end
return { 'swept', m[1], left <= 0 and '1' or '0', whole(due), endedAt and '1' or '0', evictions }
