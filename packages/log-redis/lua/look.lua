-- What became of a call whose key the ledger holds as running: the session knows, and settles first.
--
-- KEYS  1 session  2 streams  3 events  7 unsettled  8 void   (the others as in commit.lua)
-- ARGV  1 token of the call  2 "1": if it was not opened it never shall be
-- Reply { "settled", text, the response or "" }: to be settled so in the ledger
--       { "running", stream } | { "over" }: the ledger has been settled
--       { "pending" }: not opened (yet)
local unsettled = redis.call('HGET', KEYS[7], ARGV[1])
if unsettled then
  local place = string.match(unsettled, ' a (%d+:%d+)$')
  local event = place and redis.call('HGET', KEYS[3], place)
  return { 'settled', unsettled, event and string.sub(event, 2) or '' }
end
local place = redis.call('HGET', KEYS[2], 't:' .. ARGV[1])
if place then
  local number, call = string.match(place, '^(%d+) (%d+)$')
  local stream = readStream(redis.call('HGET', KEYS[2], number))
  local isLive = not redis.call('HGET', KEYS[1], 'ended')
  if isLive and split(stream.states, ',')[call + 1] == 'r' then return { 'running', number } end
  return { 'over' }
end
-- What was purged with its session was settled before.
if redis.call('HGET', KEYS[1], 'purged') then return { 'over' } end
if ARGV[2] == '1' then
  redis.call('SADD', KEYS[8], ARGV[1])
  redis.call('EXPIRE', KEYS[8], 86400)
end
return { 'pending' }
