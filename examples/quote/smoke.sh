#!/usr/bin/env bash
# Asks the program for the contract's example, and for a document that is
# malformed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

go run . <testdata/example.jsonl | diff -u testdata/example.out -

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/quote" .
status=0
"$work/quote" <<<'{"id":"case-2","currency":"EUR","lines":[{"id":"A","kind":"device","itemId":"phone","quantity":0,"unitPrice":"1.00"}]}' \
  2>"$work/errors" || status=$?
[[ $status -eq 2 ]]
grep -q 'document 1 (id "case-2")' "$work/errors"
grep -q 'lines\[0\].quantity' "$work/errors"
echo 'quote: the example is answered to the letter, a malformed document is named'
