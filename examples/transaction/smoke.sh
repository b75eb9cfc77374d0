#!/usr/bin/env bash
# Buys tickets from the program, and kills the shop some hundred times on a PostgreSQL of its own, and a shop whose statements run outside of
# their transactions until the tests notice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off
COUPONKIT_LONG=1 go test -vet=off -count=1 .
