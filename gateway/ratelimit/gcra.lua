-- GCRA over every bucket of one call: one is taken from each, or from none.
--
-- KEYS    the buckets
-- ARGV    a word that is sent back, then for each bucket: cost, room and unit, in microseconds (see redis.py)
-- answer  {-1, 0, word}, or {index from 0 of the first that is spent, microseconds until it is not, word}
--
-- A bucket holds "at debt": at the server's time `at` it would have been full after `debt` microseconds of
-- waiting. `debt` and `cost` are whole multiples of `unit`, a power of two, and less than 2^53 of them: every sum
-- here is exact.
local time, spare_ms = redis.call('TIME'), 1 -- the clock: this line is replaced where tests own the time
local now = time[1] * 1000000 + time[2]
local fresh = {}
for index, key in ipairs(KEYS) do
  local cost, room, unit = tonumber(ARGV[3 * index - 1]), tonumber(ARGV[3 * index]), tonumber(ARGV[3 * index + 1])
  local at, debt = now, 0
  local bucket = redis.call('GET', key)
  if bucket then
    local first, second = string.match(bucket, '^(%d+) ([%d.e+-]+)$')
    local then_at, owed = tonumber(first), tonumber(second)
    if not (then_at and owed and owed >= 0) then
      return redis.error_reply('ILLFORMED a bucket holds something else')
    end
    -- A clock that went back lets no debt shrink. What is left of a unit counts next time.
    local passed = math.max(0, now - then_at)
    passed = passed - passed % unit
    if owed > passed then
      at, debt = then_at + passed, math.ceil((owed - passed) / unit) * unit
    end
  end
  if debt > room then
    local wait = math.ceil(debt - room + (at - now))
    return {index - 1, math.min(math.max(1, wait), 9007199254740992), ARGV[1]}
  end
  fresh[index] = {at, debt + cost}
end
for index, key in ipairs(KEYS) do
  local at, debt = fresh[index][1], fresh[index][2]
  local keep_ms = math.min(math.ceil((debt + (at - now)) / 1000) + spare_ms, 9007199254740992)
  redis.call('SET', key, string.format('%.0f %.17g', at, debt), 'PX', string.format('%.0f', keep_ms))
end
return {-1, 0, ARGV[1]}
