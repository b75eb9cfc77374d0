#!/usr/bin/env bash
# Coupons that take an amount off, made at the double of Stripe that Stripe publishes for tests.
#
# Guess before the run: what a request leaves out is empty in the answer. An amount without a currency is refused.
# Seen (stripe/stripe-mock v0.203.0):
#   - A coupon of 5.00 euros has percent_off 25.5 and the name "25.5% off" as well. Only what was sent replaces the
#     coupon of the example; the rest of it stays.
#   - An amount without a currency is accepted, and becomes US dollars. A coupon without any discount is accepted.
#   - duration_in_months is 3 although the duration is "once", and redeem_by is a day of 2009. Yet "valid" is true.
#   - A new promotion code is not active.
# What follows: with this double, code that asks for percent_off first takes every coupon for a percentage. It
# shows that requests have the right form, and no more.
set -euo pipefail
dir=$(mktemp -d)
mock=
trap '[[ -z $mock ]] || kill "$mock"; wait || true; rm -rf "$dir"' EXIT
cd "$dir"
GOWORK=off GOBIN="$dir" go install github.com/stripe/stripe-mock@v0.203.0 2>/dev/null
cat >ask.mjs <<'JS'
async function post(path, form, fields) {
  const headers = { Authorization: "Bearer sk_test_123" };
  const response = await fetch(`http://127.0.0.1:${process.argv[2]}/v1/${path}`, { method: "POST", headers, body: new URLSearchParams(form) });
  const answer = await response.json();
  const sent = Object.entries(form).map(([key, value]) => `${key}=${value}`).join(" ");
  console.log(`${sent}: ${response.status}, ${fields.map((field) => `${field} ${answer[field]}`).join(", ")}`);
}
const fields = ["amount_off", "currency", "percent_off", "duration_in_months", "redeem_by", "valid", "name"];
await post("coupons", { amount_off: 500, currency: "eur", duration: "once" }, fields);
await post("coupons", { amount_off: 500, duration: "once" }, fields);
await post("coupons", { duration: "once" }, fields);
await post("promotion_codes", { "promotion[type]": "coupon", "promotion[coupon]": "SAVE10", code: "SPRING" }, ["code", "active"]);
JS
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
./stripe-mock -http-addr "127.0.0.1:$port" >log 2>&1 &
mock=$!
for _ in $(seq 100); do
  curl --silent --output answer "http://127.0.0.1:$port/" && break
  sleep 0.1
done
node ask.mjs "$port" | tee seen
diff seen - <<'SEEN'
amount_off=500 currency=eur duration=once: 200, amount_off 500, currency eur, percent_off 25.5, duration_in_months 3, redeem_by 1234567890, valid true, name 25.5% off
amount_off=500 duration=once: 200, amount_off 500, currency usd, percent_off 25.5, duration_in_months 3, redeem_by 1234567890, valid true, name 25.5% off
duration=once: 200, amount_off null, currency usd, percent_off 25.5, duration_in_months 3, redeem_by 1234567890, valid true, name 25.5% off
promotion[type]=coupon promotion[coupon]=SAVE10 code=SPRING: 200, code SPRING, active false
SEEN
