#!/usr/bin/env bash
# Builds the service, starts it on a free loopback port with a new SQLite file, and
# buys something: sign-in, coupon, checkout, payment, webhook, count. Then the
# service is stopped as an operator stops it, and has to say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
pid=
finish() {
  local status=$?
  if [[ -n $pid ]]; then
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  fi
  if [[ $status -ne 0 ]]; then
    cat "$work/out" "$work/log" >&2 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT

fail() {
  printf 'smoke: %s\n' "$*" >&2
  exit 1
}

go build -o "$work/service" .
"$work/service" -addr 127.0.0.1:0 -store "$work/couponkit.db" -log warn >"$work/out" 2>"$work/log" &
pid=$!

base=
for _ in $(seq 150); do
  base=$(sed -n 's|^couponkit is listening on \(http://[^ ]*\) .*|\1|p' "$work/out")
  [[ -z $base ]] || break
  kill -0 "$pid" 2>/dev/null || fail 'the service did not start'
  sleep 0.2
done
[[ -n $base ]] || fail 'the service does not say where it is'

# ask METHOD PATH [JSON] prints the body of an answer, and fails on an error status.
csrf=
ask() {
  local arguments=(--silent --show-error --fail-with-body --max-time 20 --cookie "$work/cookies" --cookie-jar "$work/cookies"
    --request "$1" --header "X-CSRF-Token: $csrf" --header 'Idempotency-Key: smoke-1')
  [[ $# -lt 3 ]] || arguments+=(--header 'Content-Type: application/json' --data "$3")
  curl "${arguments[@]}" "$base$2"
}

# member NAME prints the first text or number of that name in a JSON answer.
member() {
  sed -E -n "s/^.*\"$1\":\"?([^\",}]*).*/\1/p" | head -n 1
}

sign_in() {
  csrf=
  csrf=$(ask POST /login "{\"email\":\"$1@example.org\",\"password\":\"$1-demo-1\"}" | member csrfToken)
  [[ -n $csrf ]] || fail "$1 cannot sign in"
}

ask GET /readyz >/dev/null
sign_in ann
[[ $(ask GET /payment/apply-coupon/tenoff | member discountValue) == 10.00 ]] || fail 'the coupon is not 10.00 off'
ask POST /payment/cart-checkout '{"lines":[{"kind":"accessory","itemId":"charger","quantity":3}],"shippingOptionId":"standard",
  "couponCode":"tenoff","expected":{"subtotal":"119.70","discount":"10.00","shipping":"4.90","total":"114.60"}}' >"$work/checkout"
order=$(member orderId <"$work/checkout")
page=$(member url <"$work/checkout")
curl --silent --show-error --fail --max-time 20 --output "$work/page" "$page"
grep -q '114.60 EUR' "$work/page" || fail 'the payment page shows another amount'
curl --silent --show-error --fail --max-time 20 --output /dev/null --data action=pay "$page"
state=
for _ in $(seq 50); do
  ask GET "/order/$order" >"$work/order"
  state=$(grep -o '"state":"[a-z_]*"' "$work/order" | member state)
  [[ $state != paid ]] || break
  sleep 0.2
done
[[ $state == paid ]] || fail "the order is $state: the webhook did not arrive"

sign_in admin
[[ $(ask GET '/admin/coupon/all?search=tenoff' | member usedCount) == 1 ]] || fail 'the use was not counted'
ask GET /metrics >"$work/metrics"
grep -q 'couponkit_attempts_total{operation="checkout",outcome="ok"} 1' "$work/metrics" || fail 'the checkout was not measured'
status=$(curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' "$base/admin/coupons")
[[ $status == 303 ]] || fail "the admin panel answers strangers with $status"

kill -TERM "$pid"
wait "$pid" || fail 'the service did not end well'
pid=
grep -q '^stopped$' "$work/out" || fail 'the service did not say that it stopped'
[[ ! -s $work/log ]] || fail 'the service complains in its log'
echo 'service: bought with a coupon, paid, counted, stopped'
