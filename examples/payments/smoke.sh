#!/usr/bin/env bash
# Buys something at the shop: order, payment, webhook, refund, and the refusal to pay twice. Then tests kill
# the shop some hundred times, and a shop with mistakes until they notice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
pids=()
finish() {
  local status=$?
  kill "${pids[@]}" 2>/dev/null || true
  wait "${pids[@]}" 2>/dev/null || true
  if [[ $status -ne 0 ]]; then
    cat "$work"/*.log >&2 || true
  fi
  rm -rf "$work"
}
trap finish EXIT

# within tries a command for ten seconds.
within() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    if "$@"; then
      return
    fi
    sleep 0.1
  done
  printf 'smoke: %s\n' "$*" >&2
  return 1
}

call() { curl --silent --show-error --max-time 20 "$@"; }

orders() {
  [[ $(call --output "$work/answer" --write-out '%{http_code}' "$shop/orders" --data "$order") == "$1" ]] 2>>"$work/curl.log"
}

port=20000
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  port=$((port + 1))
done
shop=http://127.0.0.1:$port
export GOWORK=off
go build -o "$work/sandbox" ../internal/provider/sandbox
go build -o "$work/shop" .
"$work/sandbox" -addr 127.0.0.1:0 -shop "$shop" >"$work/address" 2>"$work/sandbox.log" &
pids+=($!)
within test -s "$work/address"
"$work/shop" -addr "${shop#http://}" -db "$work/shop.db" -provider "$(<"$work/address")" 2>"$work/shop.log" &
pids+=($!)

order='id=1001&customer=ann&code=SUMMER10'
within orders 200
page=$(<"$work/answer")
orders 200
[[ $(<"$work/answer") == "$page" ]] # a form that is sent twice is one order
call --fail --request POST "$page"
orders 409 # the webhook has told the shop that it is paid
for _ in 1 2; do
  call --fail "$shop/refund" --data 'id=1001&key=back-1'
done

COUPONKIT_LONG=1 go test -vet=off -count=1 -run '^TestKill' .
