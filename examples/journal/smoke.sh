#!/usr/bin/env bash
# Sells on a PostgreSQL and a Stripe account of its own, and kills the program a few hundred
# times. Beside that it takes statements out of their transactions, which the kills must show.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
dir=$(mktemp -d)
noticing=
trap 'kill $noticing 2>/dev/null || true; rm -rf "$dir"' EXIT
GOWORK=off go test -c -vet=off -o "$dir/journal.test" .
"$dir/journal.test" -test.v -test.run '^TestKillingNotices$' &
noticing=$!
"$dir/journal.test" -test.v -test.run '^TestKilledAtAnyPoint$'
wait "$noticing"
noticing=
