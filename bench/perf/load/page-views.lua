-- The hooks of wrk: each request is a random one of a pool (request-pool.ts). Arguments: the pool's file, a seed.
local requests = {}
local count = 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  local length = file:read('*l')
  while length do
    count = count + 1
    requests[count] = file:read(tonumber(length))
    length = file:read('*l')
  end
  file:close()
  math.randomseed(tonumber(args[2]))
end

function request()
  return requests[math.random(count)]
end

-- Times are microseconds.
function done(summary, latency)
  local errors = summary.errors
  local line = '\nresult {"micros":%d,"answers":%d,"failed":%d,"p50":%d,"p99":%d,"max":%d}\n'
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local p50 = latency:percentile(50)
  local p99 = latency:percentile(99)
  io.write(line:format(summary.duration, summary.requests, failed, p50, p99, latency.max))
end
