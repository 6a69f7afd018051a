-- Not a script: the words that the scripts of a session have in common, put before each of them.
--
-- A stream is kept as one text in the hash of streams, under its number:
--   head evictedThrough writtenThrough finishedAt generation keyed states runs
-- finishedAt is log time, or "-" while a call runs (or always, for the standalone stream); keyed is
-- 1 if a call of it has an idempotency key; states is "-" for the standalone stream, else one for
-- each call: "r" running, "a<position>@<log time>" answered, "c" cancelled; runs are
-- from:incarnation. Under "<number>:c" lie its calls, as JSON; under "<number>:k" the keys of its
-- calls; under "<number>:v" its newest viewport; under "t:<token>" where the call with a key is.

-- Whole numbers as texts: tostring() would round the large ones.
local function whole(number)
  return string.format('%.0f', number)
end

local function readStream(text)
  local head, evicted, written, finished, generation, keyed, states, runs =
    string.match(text, '^(%d+) (%d+) (%d+) (%S+) (%d+) ([01]) (%S+) (%S+)$')
  return {
    head = tonumber(head),
    evicted = tonumber(evicted),
    written = tonumber(written),
    finished = tonumber(finished),
    generation = tonumber(generation),
    keyed = keyed == '1',
    states = states,
    runs = runs,
  }
end

local function writeStream(stream)
  return table.concat({
    whole(stream.head),
    whole(stream.evicted),
    whole(stream.written),
    stream.finished and whole(stream.finished) or '-',
    whole(stream.generation),
    stream.keyed and '1' or '0',
    stream.states,
    stream.runs,
  }, ' ')
end

local function split(text, separator)
  local parts = {}
  for part in string.gmatch(text, '[^' .. separator .. ']+') do
    parts[#parts + 1] = part
  end
  return parts
end

-- The responses that a stream has: when each was appended, by position.
local function responsesOf(stream)
  local times = {}
  for position, at in string.gmatch(stream.states, 'a(%d+)@(%d+)') do
    times[tonumber(position)] = tonumber(at)
  end
  return times
end

-- A command with more arguments than a call can take, in several.
local function inChunks(command, key, list)
  for first = 1, #list, 4000 do
    redis.call(command, key, unpack(list, first, math.min(first + 3999, #list)))
  end
end

-- Scores of the evictable events: log time, and their order within a millisecond.
local perMillisecond = 8192
