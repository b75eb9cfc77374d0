-- Buys: wrk -t N -c N ... -s checkout.lua URL -- SESSIONS PREFIX BODY SCARCEBODY N
-- A thread has one connection. On it one customer after the other checks out, pays, and
-- looks at the order until it is paid; every fifth of them tries the coupon that runs
-- out. The threads divide the customers of the file, and begin again when all had
-- their turn.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } couponkit_time;
  int clock_gettime(int clock, couponkit_time *now);
]]
local clock = ffi.new("couponkit_time")

-- now is the monotonic clock in microseconds.
local function now()
  ffi.C.clock_gettime(1, clock)
  return tonumber(clock.seconds) * 1e6 + tonumber(clock.nanoseconds) / 1e3
end

local threads = {}

function setup(thread)
  thread:set("number", #threads + 1)
  threads[#threads + 1] = thread
end

local customers, headers, prefix, bodies = {}, nil, nil, nil
local step, began, asked, scarce, order, page, wait = "checkout", 0, 0, false, nil, nil, 0
local started = 0
took, paid, scarcePaid, refused, complaint = {}, 0, 0, 0, ""

local function read(name)
  local file = assert(io.open(name))
  local text = file:read("*a")
  file:close()
  return text
end

function init(args)
  local at = 0
  for line in io.lines(args[1]) do
    at = at + 1
    if (at - number) % tonumber(args[5]) == 0 then
      local cookie, csrf, address = line:match("(%S+) (%S+) (%S+)")
      customers[#customers + 1] = { ["Cookie"] = cookie, ["X-CSRF-Token"] = csrf, ["X-Forwarded-For"] = address }
    end
  end
  prefix, bodies = args[2], { [false] = read(args[3]), [true] = read(args[4]) }
end

local function with(more)
  for name, value in pairs(headers) do more[name] = value end
  return more
end

function delay()
  local milliseconds = wait
  wait = 0
  return milliseconds
end

function request()
  if step == "checkout" then
    headers = customers[started % #customers + 1]
    started = started + 1
    scarce = started % 5 == 1
    began = now()
    return wrk.format("POST", "/payment/cart-checkout",
      with({ ["Content-Type"] = "application/json", ["Idempotency-Key"] = prefix .. number .. "-" .. started }), bodies[scarce])
  elseif step == "pay" then
    return wrk.format("POST", page, with({ ["Content-Type"] = "application/x-www-form-urlencoded" }), "action=pay")
  end
  return wrk.format("GET", "/order/" .. order, headers)
end

local function complain(status, body)
  if complaint == "" then complaint = step .. ": " .. status .. " " .. body:sub(1, 300):gsub("[^%w%p ]", " "):gsub('["\\]', "'") end
  step = "checkout"
end

function response(status, _, body)
  if step == "checkout" and status == 201 then
    order = body:match('"orderId":"([^"]+)"')
    page = body:match('"url":"http://[^/"]+([^"]+)"')
    step = "pay"
  elseif step == "checkout" and scarce and status == 422 and body:find('"code":"usage_limit_reached"', 1, true) then
    refused = refused + 1
  elseif step == "pay" and status == 303 then
    step = "look"
    asked = now()
  elseif step == "look" and status == 200 then
    if body:find('"state":"paid"', 1, true) then
      took[#took + 1] = math.floor(now() - began)
      paid = paid + 1
      if scarce then scarcePaid = scarcePaid + 1 end
      step = "checkout"
    elseif body:find('"state":"open"', 1, true) then
      -- The webhook is on its way. The customer looks again when a fifth more time has gone by.
      wait = math.ceil((now() - asked) / 5000)
    else
      complain(status, body)
    end
  else
    complain(status, body)
  end
end

function done(summary)
  local all, sum = {}, { paid = 0, scarcePaid = 0, refused = 0 }
  local first = ""
  for _, thread in ipairs(threads) do
    for _, each in ipairs(thread:get("took")) do all[#all + 1] = each end
    for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
    if first == "" then first = thread:get("complaint") end
  end
  table.sort(all)
  local function percentile(p) return all[math.max(1, math.ceil(#all * p / 100))] or 0 end
  io.write(string.format('RESULT {"seconds":%f,"done":%d,"p50":%d,"p99":%d,"scarce":%d,"refused":%d,"complaint":"%s"}\n',
    summary.duration / 1e6, sum.paid, percentile(50), percentile(99), sum.scarcePaid, sum.refused, first))
end
