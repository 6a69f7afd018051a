-- Not a script: what commit.lua remembers of attempts, and how it writes the session that it made.
local keptAttempts = 8
local forgottenMs = 2 * 24 * 60 * 60 * 1000

-- A record of an attempt: "\30 id \31 outcome", the newest last.
local function recall(id)
  local from, to = string.find(session.attempts, '\30' .. id .. '\31', 1, true)
  if from == nil then return nil end
  local outcome = string.match(session.attempts, '^[^\30]*', to + 1)
  local record = '\30' .. id .. '\31' .. outcome
  session.attempts = string.sub(session.attempts, 1, from - 1)
    .. string.sub(session.attempts, from + #record) .. record
  return outcome
end

local function remember(id, outcome)
  local kind = string.sub(outcome, 1, 1)
  if kind == 'M' or kind == 'A' or kind == 'V' then return end
  session.hasNew = true
  session.attempts = session.attempts .. '\30' .. id .. '\31' .. outcome
end

local function writeEvents()
  local texts, scores = {}, {}
  for _, event in ipairs(session.events) do
    local place, kind, text = event[1], event[2], event[3]
    take(texts, { place, kind .. text })
    session.bytes = session.bytes + #text
    if kind == 'r' then
      session.set.responseAt = whole(now)
    else
      session.score = math.max(now * perMillisecond, session.score + 1)
      take(scores, { whole(session.score), place })
      session.evictable = session.evictable + 1
    end
  end
  if #texts > 0 then inChunks('HSET', KEYS[3], texts) end
  if #scores > 0 then inChunks('ZADD', KEYS[4], scores) end
end

local function writeStreams()
  local texts = {}
  for number, stream in pairs(session.streams) do
    if stream.isChanged then take(texts, { number, writeStream(stream) }) end
  end
  for number, keys in pairs(session.opened) do
    take(texts, { number .. ':c', keys.calls })
    if keys.keys ~= '-' then
      take(texts, { number .. ':k', keys.keys })
      for call, key in ipairs(split(keys.keys, ',')) do
        local token = string.match(key, '/(.+)$')
        if token then take(texts, { 't:' .. token, number .. ' ' .. call - 1 }) end
      end
    end
  end
  for number, viewer in pairs(session.viewers) do take(texts, { number .. ':v', viewer }) end
  if #texts > 0 then inChunks('HSET', KEYS[2], texts) end
  for _, number in ipairs(session.started) do redis.call('ZADD', KEYS[6], number, number) end
  for _, number in ipairs(session.ending) do
    redis.call('ZREM', KEYS[6], number)
    redis.call('RPUSH', KEYS[5], number)
  end
end

local function writeInbox()
  local entries = {}
  for _, sent in ipairs(session.sent) do
    session.inbox = session.inbox + 1
    session.waiting = session.waiting + 1
    session.inboxBytes = session.inboxBytes + #sent[2]
    entries[#entries + 1] = table.concat({ whole(session.inbox), node, sent[1], sent[2] }, ' ')
  end
  if #entries == 0 then return end
  inChunks('RPUSH', KEYS[9], entries)
  session.set.inboxBytes = whole(session.inboxBytes)
  session.set.waiting = whole(session.waiting)
  session.set.inbox = whole(session.inbox)
end

-- The attempts of this batch, and eight at least, stay known; so do those of sixteen writers.
local function writeAttempts(asked)
  if session.hasNew then
    local records = split(session.attempts, '\30')
    local kept = math.max(keptAttempts, asked)
    if #records > kept then
      session.attempts = '\30' .. table.concat(records, '\30', #records - kept + 1)
    end
  end
  session.set['by:' .. writer] = whole(batch) .. session.attempts
  if session.isKnownWriter then return end
  local writers = split(redis.call('HGET', KEYS[1], 'writers') or '', ',')
  if #writers >= 16 then redis.call('HDEL', KEYS[1], 'by:' .. table.remove(writers, 1)) end
  writers[#writers + 1] = writer
  session.set.writers = table.concat(writers, ',')
end

local function writeSession()
  local set = session.set
  set.bytes = whole(session.bytes)
  set.responseBytes = whole(session.responseBytes)
  set.evictable = whole(session.evictable)
  set.skipped = whole(session.skipped)
  set.score = whole(session.score)
  set.news = whole(session.news)
  set.calls = whole(session.calls)
  set.running = whole(session.running)
  set.incarnation = incarnation
  set.generation = whole(generation)
  session.revision = session.revision + 1
  set.revision = whole(session.revision)
  local fields = {}
  for field, value in pairs(set) do take(fields, { field, value }) end
  redis.call('HSET', KEYS[1], unpack(fields))
  if set.ended then
    -- Should nobody be there to sweep, what is left of it goes in two days.
    for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, forgottenMs) end
  end
end
