#!/usr/bin/env bash
# Sells on a PostgreSQL and a Stripe account of its own, and kills the program a few hundred
# times. Then it takes statements out of their transactions, which the kills must show.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
GOWORK=off go test -vet=off -count=1 -v -run '^(TestKilledAtAnyPoint|TestKillingNotices)$' .
