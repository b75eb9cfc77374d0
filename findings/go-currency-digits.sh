#!/usr/bin/env bash
# Four Go packages, asked how many decimals a currency has.
#
# Guess before the run: they agree, but for funds codes and currencies that are very new.
# Seen (Rhymond/go-money v1.0.15, bojanz/currency v1.4.2, govalues/money v0.2.4,
# golang.org/x/text v0.44.0):
#   - x/text's Standard rounding has no decimals for 22 currencies to which ISO 4217 gives
#     two or three, among them RSD, COP, IDR, PKR and IQD: it follows CLDR's customary
#     display, not the minor unit. An amount that is "converted to minor units" with it is
#     100 or 1,000 times too small, in those currencies alone.
#   - govalues gives ISK two decimals; the other three give none, as ISO 4217 does since 2007.
#   - Rhymond and govalues do not know VED, which bojanz does.
# What follows: take the exponent from an ISO 4217 table of your own, and test it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.25.0

require (
	github.com/Rhymond/go-money v1.0.15
	github.com/bojanz/currency v1.4.2
	github.com/govalues/money v0.2.4
	golang.org/x/text v0.44.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	rhymond "github.com/Rhymond/go-money"
	bojanz "github.com/bojanz/currency"
	govalues "github.com/govalues/money"
	"golang.org/x/text/currency"
)

func main() {
	shorter := 0
	for _, code := range bojanz.GetCurrencyCodes() {
		digits, _ := bojanz.GetDigits(code)
		unit, err := currency.ParseISO(code)
		if err != nil {
			continue
		}
		if scale, _ := currency.Standard.Rounding(unit); scale < int(digits) {
			shorter++
		}
	}
	fmt.Println("x/text has fewer decimals for", shorter)
	for _, code := range []string{"RSD", "IQD", "ISK"} {
		digits, _ := bojanz.GetDigits(code)
		unit := currency.MustParseISO(code)
		scale, _ := currency.Standard.Rounding(unit)
		fmt.Println(code, "bojanz", digits, "rhymond", rhymond.GetCurrency(code).Fraction,
			"govalues", govalues.MustParseCurr(code).Scale(), "x/text", scale)
	}
	_, err := govalues.ParseCurr("VED")
	fmt.Println("VED bojanz", bojanz.IsValid("VED"), "rhymond", rhymond.GetCurrency("VED") != nil, "govalues", err == nil)
}
GO
GOWORK=off GOFLAGS=-mod=mod go run . 2>/dev/null | tee seen
diff seen - <<'SEEN'
x/text has fewer decimals for 22
RSD bojanz 2 rhymond 2 govalues 2 x/text 0
IQD bojanz 3 rhymond 3 govalues 3 x/text 0
ISK bojanz 0 rhymond 0 govalues 2 x/text 0
VED bojanz true rhymond false govalues false
SEEN
