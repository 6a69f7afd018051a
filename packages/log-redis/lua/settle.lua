-- The call that holds a key is over; or it never was, and the key is as it was before.
--
-- KEYS  1 ledger  2 when each of its keys may be looked at again
-- ARGV  of each key: name, token, log time, state (a, u, or x: never opened), reason or "-", stream
--       or "-", response
-- A key that another call holds by now is left alone.
for i = 1, #ARGV, 7 do
  local name, token, at, state = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local record = redis.call('HGET', KEYS[1], name)
  local heldBy, was, claim = string.match(record or '', '^(%S+) (%a) %d+ %S+ %S+ ([^\n]*)\n')
  if heldBy == token and was == 'r' then
    if state ~= 'x' then
      redis.call('HSET', KEYS[1], name,
        table.concat({ token, state, at, ARGV[i + 4], ARGV[i + 5], claim }, ' ')
          .. '\n' .. ARGV[i + 6])
      redis.call('ZADD', KEYS[2], at, name)
    else
      local before = string.match(record, '\n(.*)$')
      if before == '' then
        redis.call('HDEL', KEYS[1], name)
        redis.call('ZREM', KEYS[2], name)
      else
        redis.call('HSET', KEYS[1], name, before)
        redis.call('ZADD', KEYS[2], string.match(before, '^%S+ %a (%d+) '), name)
      end
    end
  end
end
