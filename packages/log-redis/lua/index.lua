-- The index of all sessions: which are live, which may have rested, which have something due.
-- It may name more than there is and say less than is true: who asks it looks at the session itself.
--
-- KEYS  1 due  2 never used  3 used  4 waiting for their events  5 live
--       6 live sessions of the principal
-- ARGV  1 what: born | unborn | touched | aside | ended | due
--       2 name of the session  3 its id, or "" where it is not needed; then
--         born, ended: log time when something is due; born: log time of its creation
--         unborn: it never was, or is forgotten
--         touched: log time, is it used
--         aside: "2", "3" or "4": where it is to wait, by which time
--         due: when something was due, when something is due now
local what, name, id = ARGV[1], ARGV[2], ARGV[3]

local function isolate(kept)
  for i = 2, 4 do
    if i ~= kept then redis.call('ZREM', KEYS[i], name) end
  end
end

local actions = {}

function actions.born()
  redis.call('ZADD', KEYS[1], 'NX', ARGV[4], name)
  local isKnown = redis.call('ZSCORE', KEYS[3], name) or redis.call('ZSCORE', KEYS[4], name)
  if not isKnown then redis.call('ZADD', KEYS[2], 'NX', ARGV[5], name) end
  redis.call('ZADD', KEYS[5], 0, id)
  redis.call('SADD', KEYS[6], name)
end

function actions.unborn()
  redis.call('ZREM', KEYS[1], name)
  isolate(0)
  redis.call('ZREM', KEYS[5], id)
  redis.call('SREM', KEYS[6], name)
end

function actions.touched()
  local kept = ARGV[5] == '1' and 3 or 2
  isolate(kept)
  redis.call('ZADD', KEYS[kept], 'GT', ARGV[4], name)
end

function actions.aside()
  local kept = tonumber(ARGV[4])
  isolate(kept)
  redis.call('ZADD', KEYS[kept], ARGV[5], name)
end

function actions.ended()
  isolate(0)
  redis.call('ZREM', KEYS[5], id)
  redis.call('SREM', KEYS[6], name)
  redis.call('ZADD', KEYS[1], 'LT', ARGV[4], name)
end

-- What became due sooner while the session was looked at stays so.
function actions.due()
  local at = redis.call('ZSCORE', KEYS[1], name)
  if not at then return end
  if tonumber(at) == tonumber(ARGV[4]) or tonumber(at) > tonumber(ARGV[5]) then
    redis.call('ZADD', KEYS[1], ARGV[5], name)
  end
end

actions[what]()
