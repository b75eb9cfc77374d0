#!/usr/bin/env bash
# Spreading a discount over lines of which one is free, with two money libraries that both
# promise to lose no cent.
#
# Guess before the run: a share of weight 0 stays 0 in both.
# Seen (Go: Rhymond/go-money v1.0.15; JavaScript: dinero.js 1.9.1):
#   - dinero.js passes weight 0 over: 0, 34, 33, 33.
#   - go-money hands spare cents out from the left, whatever the weight: 1, 33, 33, 33. The
#     free line has a discount of one cent, and so a total of minus one cent. Where the free
#     line comes last, nothing is wrong; so a test with the gift at the end does not find it.
# What follows: lines without a price take no part when spare units are handed out.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/Rhymond/go-money v1.0.15
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/Rhymond/go-money"
)

func main() {
	for _, weights := range [][]int{{0, 1, 1, 1}, {1, 1, 1, 0}} {
		parts, err := money.New(100, money.EUR).Allocate(weights...)
		if err != nil {
			panic(err)
		}
		fmt.Print("go-money ", weights)
		for _, p := range parts {
			fmt.Print(" ", p.Amount())
		}
		fmt.Println()
	}
}
GO
npm init -y >/dev/null
npm install --silent --no-audit --no-fund dinero.js@1.9.1 >/dev/null
{
  GOWORK=off GOFLAGS=-mod=mod go run . 2>/dev/null
  node -e '
    const Dinero = require("dinero.js");
    for (const weights of [[0, 1, 1, 1], [1, 1, 1, 0]]) {
      const parts = Dinero({ amount: 100, currency: "EUR" }).allocate(weights);
      console.log("dinero.js [" + weights.join(" ") + "]", parts.map((p) => p.getAmount()).join(" "));
    }'
} | tee seen
diff seen - <<'SEEN'
go-money [0 1 1 1] 1 33 33 33
go-money [1 1 1 0] 34 33 33 0
dinero.js [0 1 1 1] 0 34 33 33
dinero.js [1 1 1 0] 34 33 33 0
SEEN
