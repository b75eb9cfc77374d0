-- Looks coupons up: wrk ... -s apply.lua URL -- SESSIONS METHOD PATH [BODYFILE]
-- The customers of the file take turns.
local requests, turn = {}, 0

function init(args)
  local body = nil
  if args[4] then
    local file = assert(io.open(args[4]))
    body = file:read("*a")
    file:close()
  end
  for line in io.lines(args[1]) do
    local cookie, csrf, address = line:match("(%S+) (%S+) (%S+)")
    requests[#requests + 1] = wrk.format(args[2], args[3], {
      ["Cookie"] = cookie, ["X-CSRF-Token"] = csrf, ["X-Forwarded-For"] = address, ["Content-Type"] = "application/json",
    }, body)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local bad = summary.errors
  io.write(string.format('RESULT {"seconds":%f,"done":%d,"p50":%d,"p90":%d,"p99":%d,"requests":%d,"failed":%d}\n',
    summary.duration / 1e6, summary.requests - bad.status, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    summary.requests, bad.connect + bad.read + bad.write + bad.timeout + bad.status))
end
