#!/usr/bin/env bash
# Buys from the program, on a PostgreSQL and a Stripe account of its own, and kills the shop some hundred
# times. A shop whose statements run outside of their transactions is killed until the tests notice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off
COUPONKIT_LONG=1 go test -vet=off -count=1 .
