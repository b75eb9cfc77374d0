#!/usr/bin/env bash
# Runs the example on the account in memory, whatever keys are around.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
out=$(STRIPE_TEST_KEY='' GOWORK=off go run . </dev/null)
printf '%s\n' "$out"
grep -q '^counted    1 of 100 uses$' <<<"$out"
grep -q '^afterwards coupon refused' <<<"$out"
