-- Not a script: the caps of a session, enforced by commit.lua in the step that broke them.
local function exceeded()
  if session.evictable > maxEvents then return 'count' end
  if session.bytes > maxBytes then return 'bytes' end
end

-- [C W-01] [C W-03] Oldest first, never one more than needed; a response shields what follows it.
local function enforceCaps()
  local tally, order = {}, {}
  local gone = {}
  local cause = exceeded()
  while cause do
    local over = math.max(8, math.min(500, session.evictable - maxEvents))
    local page = redis.call('ZRANGE', KEYS[4], session.skipped, session.skipped + over - 1,
      'WITHSCORES')
    if #page == 0 then break end
    local taken = {}
    for i = 1, #page, 2 do
      if not cause then break end
      local number, position = string.match(page[i], '^(%d+):(%d+)$')
      local stream = loadStream(number)
      position = tonumber(position)
      if not stream then
        -- The store lost the stream: what is left of it goes.
        taken[#taken + 1] = page[i]
        session.evictable = session.evictable - 1
        cause = exceeded()
      elseif position ~= stream.evicted + 1 then
        session.skipped = session.skipped + 1
      else
        local bytes = math.max(0, redis.call('HSTRLEN', KEYS[3], page[i]) - 1)
        stream.evicted = position
        stream.isChanged = true
        session.evictable = session.evictable - 1
        session.bytes = session.bytes - bytes
        taken[#taken + 1] = page[i]
        local at, ends = math.floor(tonumber(page[i + 1]) / perMillisecond), nil
        if stream.states == '-' then
          ends = at + windowMs
        elseif stream.finished then
          ends = stream.finished + windowMs
        end
        local isBreach = (not ends or dueNow < ends) and '1' or '0'
        local name = number .. cause .. isBreach
        local sum = tally[name]
        if not sum then
          sum = { number = number, events = 0, bytes = 0, cause = cause, isBreach = isBreach }
          tally[name] = sum
          order[#order + 1] = sum
        end
        sum.through = position
        -- Oldest first: the last one is the newest.
        sum.age = dueNow - at
        sum.events = sum.events + 1
        sum.bytes = sum.bytes + bytes
        session.news_of[number] = true
        cause = exceeded()
      end
    end
    if #taken > 0 then
      redis.call('ZREM', KEYS[4], unpack(taken))
      take(gone, taken)
    end
  end
  inChunks('HDEL', KEYS[3], gone)
  local evictions = {}
  for _, sum in ipairs(order) do
    take(evictions, {
      sum.number, whole(sum.through), whole(sum.events), whole(sum.bytes), whole(sum.age),
      sum.cause, sum.isBreach,
    })
  end
  return evictions
end
