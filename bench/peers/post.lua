-- For wrk: posts one request, read from a file, and tells the figures as one JSON line. wrk … -s post.lua URL -- FILE
local body

init = function(args)
  local file = io.open(args[1], "rb")
  body = file:read("*a")
  file:close()
  wrk.method = "POST"
  wrk.body = body
  wrk.headers["content-type"] = "application/json"
  wrk.headers["authorization"] = "Bearer k"
  wrk.headers["x-api-key"] = "k"
  wrk.headers["anthropic-version"] = "2023-06-01"
end

done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "failed": %d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, failed))
end
