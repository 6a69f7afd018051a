-- Not a script: how entries leave the inbox of a session.

-- Those up to a number, oldest first.
local function dropEntries(through)
  local bytes, count = 0, 0
  while true do
    local entry = redis.call('LINDEX', KEYS[9], 0)
    if not entry then break end
    local number, text = string.match(entry, '^(%d+) %S+ %S+ ()')
    if tonumber(number) > through then break end
    redis.call('LPOP', KEYS[9])
    bytes = bytes + #entry - text + 1
    count = count + 1
  end
  if count == 0 then return end
  redis.call('HINCRBY', KEYS[1], 'inboxBytes', whole(0 - bytes))
  redis.call('HINCRBY', KEYS[1], 'waiting', -count)
end
