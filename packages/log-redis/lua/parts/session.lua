-- Not a script: the session as commit.lua meets it, and the draft in which one commit changes it.
-- A draft that is refused is thrown away; nothing was written then.
local now, dueNow, wall, given = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local windowMs, maxEvents, maxBytes = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local writer, batch, generation = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local node, maxEntries, maxEntryBytes = ARGV[12], tonumber(ARGV[13]), tonumber(ARGV[14])

local function loadSession()
  local m = redis.call('HMGET', KEYS[1], 'tag', 'ended', 'next', 'bytes', 'responseBytes',
    'evictable', 'skipped', 'score', 'news', 'fence', 'isUsed', 'principal', 'revision',
    'by:' .. writer, 'owner', 'incarnation', 'generation', 'inbox', 'inboxBytes', 'waiting',
    'calls', 'running')
  local last, attempts = string.match(m[14] or '0', '^(%d+)(.*)$')
  return {
    tag = m[1],
    ended = m[2],
    next = tonumber(m[3] or 0),
    bytes = tonumber(m[4] or 0),
    responseBytes = tonumber(m[5] or 0),
    evictable = tonumber(m[6] or 0),
    skipped = tonumber(m[7] or 0),
    score = tonumber(m[8] or 0),
    news = tonumber(m[9] or 0),
    fence = tonumber(m[10] or 0),
    isUsed = m[11] == '1',
    principal = m[12] or '',
    revision = tonumber(m[13] or 0),
    isKnownWriter = m[14] ~= false,
    owner = m[15] or '',
    incarnation = m[16],
    generation = tonumber(m[17] or 0),
    -- Number of the newest entry; bytes and number of those that wait or are with the owner.
    inbox = tonumber(m[18] or 0),
    inboxBytes = tonumber(m[19] or 0),
    waiting = tonumber(m[20] or 0),
    -- Calls that run, and the streams that they have.
    calls = tonumber(m[21] or 0),
    running = tonumber(m[22] or 0),
    lastBatch = tonumber(last),
    attempts = attempts,
    streams = {},
    events = {},
    set = {},
    news_of = {},
    settled = {},
    opened = {},
    viewers = {},
    started = {},
    ending = {},
    sent = {},
    hasNew = false,
  }
end

local session = loadSession()
-- [C E-02] After a possible loss what is appended must not be taken for what was lost.
local incarnation = given
if session.incarnation and session.generation >= generation then
  incarnation = session.incarnation
end

-- [C R-08] What was written before a possible loss vouches for nothing.
local function loadStream(number)
  local stream = session.streams[number]
  if stream == nil then
    local text = redis.call('HGET', KEYS[2], number)
    if not text then return nil end
    stream = readStream(text)
    if stream.generation < generation then
      stream.runs = '0:' .. ARGV[11]
      stream.generation = generation
    end
    session.streams[number] = stream
  end
  return stream
end

local lostAll = 'the streams are lost'

-- The stream as this commit changes it.
local function draftOf(draft, number)
  local mine = draft.streams[number]
  if mine then return mine end
  local stream = loadStream(number)
  if stream == nil then
    -- Every session has its standalone stream: the store lost them all, and there is no session.
    local isNew = draft.streams['0'] or session.streams['0']
    if not isNew and redis.call('HEXISTS', KEYS[2], '0') == 0 then return nil, lostAll end
    return nil, 'stream ' .. number .. ' is not known'
  end
  mine = {}
  for field, value in pairs(stream) do mine[field] = value end
  draft.streams[number] = mine
  return mine
end

local function begin(draft, number, states, isKeyed)
  draft.streams[number] = {
    head = 0, evicted = 0, written = 0, finished = nil, generation = generation,
    keyed = isKeyed, states = states, runs = '0:' .. incarnation,
  }
  draft.news[#draft.news + 1] = number
  draft.begun[#draft.begun + 1] = number
  draft.newest = number
  draft.next = tonumber(number) + 1
end

local function keysOf(draft, number)
  local keys = draft.opened[number] or session.opened[number]
  if keys then return split(keys.keys, ',') end
  return split(redis.call('HGET', KEYS[2], number .. ':k') or '', ',')
end

-- A call is over: its key, if it has one, is to be settled in the ledger, which lies elsewhere.
local function settleKey(draft, number, stream, call, outcome)
  if not stream.keyed then return end
  local key = keysOf(draft, number)[call + 1]
  if key == nil or key == '-' then return end
  local name, token = string.match(key, '^([^/]+)/(.+)$')
  draft.names[name] = true
  draft.settled[#draft.settled + 1] = {
    token = token, text = table.concat({ name, whole(now), number, outcome }, ' '),
  }
end

local function settle(draft, number, stream, call, state)
  local states = split(stream.states, ',')
  if states[call + 1] ~= 'r' then
    return 'call ' .. whole(call) .. ' of stream ' .. number .. ' is not running'
  end
  states[call + 1] = state
  stream.states = table.concat(states, ',')
  draft.calls = draft.calls - 1
  if not string.find(stream.states, 'r', 1, true) then
    stream.finished = now
    draft.running = draft.running - 1
    draft.ending[#draft.ending + 1] = number
  end
end

local function append(draft, number, kind, text, stream)
  stream.head = stream.head + 1
  if string.sub(stream.runs, -8) ~= incarnation then
    stream.runs = stream.runs .. ',' .. whole(stream.head) .. ':' .. incarnation
  end
  draft.news[#draft.news + 1] = number
  draft.events[#draft.events + 1] = { number .. ':' .. whole(stream.head), kind, text }
  draft.appended[#draft.appended + 1] = number .. ':' .. whole(stream.head)
end

local function isFinished(stream)
  return stream.states ~= '-' and not string.find(stream.states, 'r', 1, true)
end

local function take(list, more)
  for _, one in ipairs(more) do list[#list + 1] = one end
end
