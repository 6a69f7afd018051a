-- Not a script: the operations of commit.lua, by the letter that stands for each.
local names = {
  c = 'create', d = 'record', o = 'open', a = 'append', r = 'append', x = 'cancel',
  w = 'written', t = 'touch', s = 'send', v = 'attach', e = 'end',
}
local arity = { c = 4, d = 1, o = 5, a = 3, r = 4, x = 2, w = 2, t = 1, s = 1, v = 2, e = 1 }
-- [C N-01] What any node may do, owner or not.
local ofAnyNode = { o = true, s = true, v = true, t = true, w = true }
local operations = {}

-- Each returns nothing, or a refusal of the whole commit.
function operations.c()
  return 'M create: only the first operation of a commit can be it'
end

function operations.d(draft, i)
  draft.set.data = ARGV[i]
end

function operations.o(draft, i)
  local number, flags, keys = ARGV[i], ARGV[i + 2], ARGV[i + 3]
  -- [C W-03] "When responses alone fill maxBytes, new requests get 503"
  if session.responseBytes + draft.responseBytes >= maxBytes then return 'F' end
  if number == 'next' then number = whole(draft.next) end
  if tonumber(number) < draft.next then return 'M open: ' .. number .. ' is not new' end
  if flags == '' then return 'M open: stream ' .. number .. ' has no call' end
  begin(draft, number, string.sub(string.rep('r,', #flags), 1, -2), keys ~= '-')
  draft.opened[number] = { calls = ARGV[i + 1], keys = keys }
  draft.started[#draft.started + 1] = number
  draft.calls = draft.calls + #flags
  draft.running = draft.running + 1
  if keys == '-' then return nil end
  local list = split(keys, ',')
  for call = 1, #flags do
    local flag = string.sub(flags, call, call)
    if flag ~= '0' then
      local name, token = string.match(list[call], '^([^/]+)/(.+)$')
      if draft.names[name] then
        return 'M open: two operations of one commit are about one key'
      end
      if flag == '2' then return 'H ' .. ARGV[i + 4] end
      if redis.call('SISMEMBER', KEYS[8], token) == 1 then return 'V' end
      draft.names[name] = true
    end
  end
end

function operations.a(draft, i)
  local number = ARGV[i]
  local stream, mistake = draftOf(draft, number)
  if mistake then return 'M ' .. mistake end
  if isFinished(stream) then return 'M append: stream ' .. number .. ' is finished' end
  append(draft, number, ARGV[i + 1], ARGV[i + 2], stream)
end

function operations.r(draft, i)
  local number, call, text, unknown = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local stream, mistake = draftOf(draft, number)
  if mistake then return 'M ' .. mistake end
  if isFinished(stream) then return 'M append: stream ' .. number .. ' is finished' end
  local position = whole(stream.head + 1)
  mistake = settle(draft, number, stream, call, 'a' .. position .. '@' .. whole(now))
  if mistake then return 'M ' .. mistake end
  append(draft, number, 'r', text, stream)
  draft.responseBytes = draft.responseBytes + #text
  local outcome = unknown == '' and 'a ' .. number .. ':' .. position or 'u ' .. unknown
  settleKey(draft, number, stream, call, outcome)
end

function operations.x(draft, i)
  local number, call = ARGV[i], tonumber(ARGV[i + 1])
  local stream, mistake = draftOf(draft, number)
  mistake = mistake or settle(draft, number, stream, call, 'c')
  if mistake then return 'M ' .. mistake end
  settleKey(draft, number, stream, call, 'u window-expired')
  draft.news[#draft.news + 1] = number
end

function operations.w(draft, i)
  local stream, mistake = draftOf(draft, ARGV[i])
  if mistake then return 'M ' .. mistake end
  local position = tonumber(ARGV[i + 1])
  if position > stream.head then
    return 'M written: ' .. ARGV[i + 1] .. ' is past the head'
  end
  stream.written = math.max(stream.written, position)
end

function operations.t(draft, i)
  draft.isTouched = true
  draft.isUsed = draft.isUsed or ARGV[i] == '1'
end

function operations.s(draft, i)
  local text = ARGV[i]
  if session.waiting + #draft.sent >= maxEntries then return 'F' end
  if session.inboxBytes + draft.sentBytes >= maxEntryBytes then return 'F' end
  local stream = draft.newest ~= '0' and draft.newest or '-'
  draft.sent[#draft.sent + 1] = { stream or '-', text }
  draft.sentBytes = draft.sentBytes + #text
end

-- [C R-02] Who shows the stream on any node is woken, and sees that another does.
function operations.v(draft, i)
  local number = ARGV[i]
  local _, mistake = draftOf(draft, number)
  if mistake then return 'M ' .. mistake end
  draft.viewers[number] = ARGV[i + 1]
  draft.news[#draft.news + 1] = number
end

-- [C X-05] Nobody may wait for calls of a session that is over.
function operations.e(draft, i)
  draft.ended = ARGV[i]
  local numbers = redis.call('ZRANGE', KEYS[6], 0, -1)
  for _, list in ipairs({ session.started, draft.started }) do
    for _, number in ipairs(list) do numbers[#numbers + 1] = number end
  end
  for _, number in ipairs(numbers) do
    local stream = draft.streams[number] or loadStream(number)
    if stream and stream.keyed then
      for call, state in ipairs(split(stream.states, ',')) do
        if state == 'r' then settleKey(draft, number, stream, call - 1, 'u session-ended') end
      end
    end
  end
end

local function created(draft, i)
  draft.tag = ARGV[i]
  draft.principal = ARGV[i + 1]
  draft.isTouched = true
  draft.set.tag = ARGV[i]
  draft.set.principal = ARGV[i + 1]
  draft.set.data = ARGV[i + 2]
  draft.set.session = ARGV[i + 3]
  draft.set.createdAt = wall
  draft.owner = node
  draft.fence = 1
  draft.set.owner = node
  draft.set.fence = '1'
  begin(draft, '0', '-', false)
end
