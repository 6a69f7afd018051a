-- Carries out commits of one session: all operations of each or none, in their order, once.
-- What they mean is said by planCommit (packages/log/src/plan.ts); a property test holds the two
-- together. The caps are enforced at the end.
--
-- KEYS  1 session  2 streams  3 events  4 evictable  5 finished  6 running  7 unsettled  8 void
--       9 inbox
-- ARGV  1 log time for what happens now, 2 for what is due, 3 wall clock  4 incarnation
--       5 windowMs  6 maxEvents  7 maxBytes  8 writer  9 its number of this batch
--       10 generation of the log  11 the incarnation that found its last loss, or "-"
--       12 node  13 bounds of the inbox: entries, 14 bytes  15 channel of the session
--       16 channels of nodes begin so
--       17 how many commits; each: id as JSON or "", fence, number of operations, operations
--       operations: c tag principal data session | d data | o stream calls flags keys held
--         a stream kind text | r stream call text unknown | x stream call | w stream position
--         t isUsed | s text | v stream viewer | e reason; `stream` of `o` may be "next"
--       flags of `o`, one for each call: 0 has no key, 1 its key was claimed, 2 is held by another
--       (`held`); keys: "-", or one for each call, by "," : "-" or name/token
-- Reply "late" if a later batch of this writer was here before; else
--       { tag, news, isUsed, principal, revision, outcomes, changed streams, settled keys,
--         evictions, is over now }
--       outcomes: "C incarnation n:p,… n,… owner fence inbox calls running" | "H held" | "F" full
--         | "A" absent | "X" fenced | "V" a token is void, or that of one before | "M message" a mistake
--       evictions: stream, through, events, bytes, age, cause, isBreach, each in turn

-- The draft becomes what the next commit begins with.
local function merge(draft)
  session.tag = draft.tag
  session.principal = draft.principal
  session.ended = draft.ended
  session.next = draft.next
  session.owner = draft.owner
  session.fence = draft.fence
  session.calls = draft.calls
  session.running = draft.running
  session.responseBytes = session.responseBytes + draft.responseBytes
  for number, stream in pairs(draft.streams) do
    stream.isChanged = true
    session.streams[number] = stream
  end
  for number, keys in pairs(draft.opened) do session.opened[number] = keys end
  for field, value in pairs(draft.set) do session.set[field] = value end
  for number, viewer in pairs(draft.viewers) do session.viewers[number] = viewer end
  take(session.events, draft.events)
  take(session.sent, draft.sent)
  take(session.started, draft.started)
  take(session.ending, draft.ending)
  take(session.settled, draft.settled)
  for _, number in ipairs(draft.news) do session.news_of[number] = true end
  session.set.next = whole(draft.next)
  if draft.isTouched then
    session.isUsed = draft.isUsed
    session.set.isUsed = draft.isUsed and '1' or '0'
    session.set.touchedAt = whole(now)
  end
  if draft.ended then
    session.set.ended = draft.ended
    session.set.endedAt = whole(now)
  end
  return table.concat({
    'C', incarnation, table.concat(draft.appended, ','), table.concat(draft.begun, ','),
    draft.owner, whole(draft.fence), whole(session.inbox + #session.sent), whole(draft.calls),
    whole(draft.running),
  }, ' ')
end

-- [C N-02] "the store refuses appends with an older token"
local function isFenced(fence, count, first)
  if fence ~= 0 then return fence ~= session.fence end
  local i = first
  for _ = 1, count do
    if not ofAnyNode[ARGV[i]] then return true end
    i = i + 1 + arity[ARGV[i]]
  end
  return false
end

local function run(fence, count, first)
  local isCreated = count > 0 and ARGV[first] == 'c'
  if isCreated and session.tag then return 'M create: the session was there before' end
  if not isCreated and (not session.tag or session.ended) then return 'A' end
  if not isCreated and isFenced(fence, count, first) then return 'X' end
  local draft = {
    tag = session.tag, principal = session.principal, ended = session.ended,
    next = session.next, isUsed = session.isUsed, isTouched = false, responseBytes = 0,
    owner = session.owner, fence = session.fence, calls = session.calls,
    running = session.running, sentBytes = 0, sent = {}, viewers = {}, streams = {}, events = {}, appended = {}, begun = {}, news = {}, opened = {},
    started = {}, ending = {}, settled = {}, names = {}, set = {},
  }
  local i = first
  for n = 1, count do
    local code = ARGV[i]
    if draft.ended then return 'M ' .. names[code] .. ': the session was ended in this commit' end
    local refusal
    if n == 1 and isCreated then created(draft, i + 1) else
      refusal = operations[code](draft, i + 1)
    end
    if refusal == 'M ' .. lostAll then return 'A' end
    if refusal then return refusal end
    i = i + 1 + arity[code]
  end
  return merge(draft)
end

if session.tag and batch <= session.lastBatch then return 'late' end

local outcomes, asked, i = {}, 0, 18
local isChanged, isStopped = false, false
for _ = 1, tonumber(ARGV[17]) do
  local id, fence, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local outcome = isStopped and 'V' or id ~= '' and recall(id)
  if id ~= '' then asked = asked + 1 end
  if not outcome then
    outcome = run(fence, count, i + 3)
    if id ~= '' then remember(id, outcome) end
    -- What came after it in the batch must not overtake it.
    isStopped = outcome == 'V'
    isChanged = isChanged or string.sub(outcome, 1, 1) == 'C'
  end
  outcomes[#outcomes + 1] = outcome
  i = i + 3
  for _ = 1, count do i = i + 1 + arity[ARGV[i]] end
end

local evictions, changed, settled = {}, {}, {}
if isChanged then
  writeEvents()
  evictions = enforceCaps()
  writeStreams()
  writeInbox()
  for _, one in ipairs(session.settled) do
    redis.call('HSET', KEYS[7], one.token, one.text)
    take(settled, { one.token, one.text })
  end
  for number in pairs(session.news_of) do changed[#changed + 1] = number end
end
if session.tag and (isChanged or session.hasNew) then
  local isTold = #changed > 0 or session.set.ended
  if isTold then session.news = session.news + 1 end
  if #session.sent > 0 then
    -- To the owner; to all where there is none, so that one that shows the session takes it over.
    local to = session.owner ~= '' and session.owner or 'all'
    redis.call('PUBLISH', ARGV[16] .. to, redis.call('HGET', KEYS[1], 'session'))
  end
  writeAttempts(asked)
  writeSession()
  if isTold then
    local what = session.set.ended and '*' or table.concat(changed, ',')
    redis.call('SPUBLISH', ARGV[15], writer .. ' ' .. whole(session.news) .. ' ' .. what)
  end
end

return {
  session.tag or '', whole(session.news), session.isUsed and '1' or '0', session.principal,
  whole(session.revision), outcomes, changed, settled, evictions,
  session.set.ended and '1' or '0',
}
