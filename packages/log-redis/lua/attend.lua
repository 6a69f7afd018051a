-- A node says that it is there; from the answer it knows the time of the log, and whether
-- acknowledged events may have been lost since [C R-08]. Called at every connection before anything
-- else, every second while it lasts, and at the end.
--
-- KEYS  1 log  2 nodes: when the lease of each is over
-- ARGV  1 open | connect | beat | close  2 node  3 version of the data
--       4 run id of the server  5 "1" if what this server acknowledges survives its restart
--       6 generation that the node knows, 0 for none  7 run id that it knows, or ""
--       8 "kept" or "lost": whether the last that the node was told of is there, "" if it knows none
--       9 incarnation for a loss that is found  10 how many beats the node was told of
--       11 the node's own log time, and 12 "store" if the server's clock counts, else "own"
-- Reply { version, generation, incarnation of the last loss or "-", log time, beats, is lost now }
local what, node, version, runId = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local knownGeneration, knownRun = tonumber(ARGV[6]), ARGV[7]
local absentMs = 10000

local log = {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do log[flat[i]] = flat[i + 1] end
if log.version and log.version ~= version then return { log.version } end

local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local generation = tonumber(log.generation or 0)
local beats = tonumber(log.beats or 0)

-- No other node was there when the log was last heard of: one may have been told of more than this.
local function isAlone()
  local others = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. (log.clock or '0'), '+inf')
  for _, other in ipairs(others) do
    if other ~= node then return false end
  end
  return true
end

local function mayHaveLost()
  -- Flushed, or an older copy, or its end is gone.
  if not log.version then return knownGeneration > 0 end
  if generation < knownGeneration then return true end
  if knownRun ~= '' and knownRun ~= runId then
    if ARGV[8] == 'lost' or beats < tonumber(ARGV[10]) then return true end
  end
  if log.runId == runId then return false end
  -- The server was started since, or another took its place.
  if log.isDurable == '1' then return false end
  return not (ARGV[8] == 'kept' and knownRun == log.runId and isAlone())
end

local isLost = mayHaveLost()
if isLost or generation == 0 then
  generation = math.max(generation, knownGeneration) + 1
  log.lossIncarnation = isLost and ARGV[9] or '-'
end

-- Time passes while somebody is there, and no other way: not by a step of the clock, nor while none
-- was. How far it came is kept with the clock by which that was told.
local logMs, own = tonumber(log.logMs or 0), tonumber(ARGV[11])
if ARGV[12] == 'store' then
  local passed = log.clock and clock - tonumber(log.clock) or 0
  local wasNobody = what == 'open' and log.open == '0'
  if passed > 0 and passed <= absentMs and not wasNobody then logMs = logMs + passed end
  if what == 'beat' or what == 'close' then logMs = math.max(logMs, own) end
else
  logMs = math.max(logMs, own)
end

local isOpen = what ~= 'close' or not isAlone()
beats = beats + 1
redis.call('HSET', KEYS[1],
  'version', version, 'runId', runId, 'isDurable', ARGV[5], 'generation', whole(generation),
  'lossIncarnation', log.lossIncarnation, 'logMs', whole(logMs), 'clock', whole(clock),
  'beats', whole(beats), 'open', isOpen and '1' or '0')
return {
  version, whole(generation), log.lossIncarnation, whole(logMs), whole(beats), isLost and '1' or '0',
}
