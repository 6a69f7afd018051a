-- What a viewport asks: one stream, as it is, and its events after a position.
--
-- KEYS  1 session  2 streams  3 events
-- ARGV  1 stream  2 position  3 how many events at most, 4 how many bytes (one event at least)
-- Reply nothing if there is no such session, it is purged, or the store lost its streams
--       "lost": the store lost an event of the stream (see lose.lua); else
--       { tag, incarnation, generation, ended or "", the stream's text or "", calls or "",
--         viewer or "", events… }; each event is the letter of its kind (n, q, r), then its text
local m = redis.call('HMGET', KEYS[1], 'tag', 'purged', 'incarnation', 'generation', 'ended')
if not m[1] or m[2] then return {} end
local texts = redis.call('HMGET', KEYS[2], ARGV[1], ARGV[1] .. ':c', ARGV[1] .. ':v', '0')
if not texts[4] then return {} end
local reply = {
  m[1], m[3], m[4], m[5] or '', texts[1] or '', texts[2] or '', texts[3] or '',
}
if not texts[1] then return reply end

local stream = readStream(texts[1])
local position, count, room = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if position < stream.evicted or position >= stream.head then return reply end

local last = math.min(stream.head, position + count)
local bytes, shown, first = 0, 0, position + 1
while first <= last do
  -- Few at first: texts may be large, and the room small.
  local through = math.min(last, first + (shown == 0 and 15 or 255))
  local fields = {}
  for p = first, through do fields[#fields + 1] = ARGV[1] .. ':' .. whole(p) end
  for _, event in ipairs(redis.call('HMGET', KEYS[3], unpack(fields))) do
    if not event then return 'lost' end
    bytes = bytes + #event - 1
    if shown > 0 and bytes > room then return reply end
    shown = shown + 1
    reply[#reply + 1] = event
  end
  first = through + 1
end
return reply
