#!/usr/bin/env bash
# A payment is split between a fee and a shop in a language made for splitting money: who has the spare unit?
#
# Guess before the run: the shop, since its share is written "remaining".
# Seen (formancehq/numscript v0.2.0, its interpreter and its virtual machine alike):
#   - "remaining" is a portion like the others: 1 less their sum. Every portion is rounded down, and spare units go
#     to the first portions. So the portion that is written first is the one that is rounded up.
#   - "2.9% to @fee, remaining to @shop": of 1 cent the fee has the whole cent and the shop nothing; of 2, 10 and 100
#     cents it has 1, 1 and 3. Of 1,000 payments of 10 cents the fee is 10.00, and 2.90 of the same money at once.
#   - With the shop written first, the fee of 1, 2 and 10 cents is 0, and of 100 cents 2.
# What follows: which party is rounded up is a rule of its own. Name the party that has the rest, and let a test
# permute the shares.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/formancehq/numscript v0.2.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"math/big"

	"github.com/formancehq/numscript"
)

// nothing has no balances and no metadata.
type nothing struct{}

func (nothing) GetBalance(context.Context, string, string, string, string) (*big.Int, error) {
	return new(big.Int), nil
}

func (nothing) GetMetadata(context.Context, string, string, string) (string, bool, error) {
	return "", false, nil
}

// shares runs a script in both ways and returns what each account receives.
func shares(script string) string {
	ctx, parsed := context.Background(), numscript.Parse(script)
	interpreted, err := parsed.Run(ctx, nil, numscript.StaticStore{})
	if err != nil {
		return err.Error()
	}
	encoder, program, failed := parsed.Compile()
	if failed != nil {
		return failed.Error()
	}
	vars, failed := encoder.Encode(nil)
	if failed != nil {
		return failed.Error()
	}
	executed, failed := numscript.ExecVm(ctx, numscript.NewVm(program), &vars, nothing{})
	if failed != nil {
		return failed.Error()
	}
	text := fmt.Sprint(interpreted.Postings)
	if other := fmt.Sprint(executed.Postings); other != text {
		return text + " or " + other
	}
	text = ""
	for _, p := range interpreted.Postings {
		text += fmt.Sprint(" ", p.Destination, " ", p.Amount)
	}
	return text
}

func main() {
	for _, split := range []string{"2.9% to @fee\n remaining to @shop", "remaining to @shop\n 2.9% to @fee"} {
		for _, amount := range []int{1, 2, 10, 100, 10_000} {
			fmt.Printf("%q of %d:%s\n", split, amount,
				shares(fmt.Sprintf("send [EUR/2 %d] (\n source = @world\n destination = {\n %s\n }\n)", amount, split)))
		}
	}
}
GO
GOWORK=off GOFLAGS=-mod=mod go run . 2>/dev/null | tee seen
diff seen - <<'SEEN'
"2.9% to @fee\n remaining to @shop" of 1: fee 1
"2.9% to @fee\n remaining to @shop" of 2: fee 1 shop 1
"2.9% to @fee\n remaining to @shop" of 10: fee 1 shop 9
"2.9% to @fee\n remaining to @shop" of 100: fee 3 shop 97
"2.9% to @fee\n remaining to @shop" of 10000: fee 290 shop 9710
"remaining to @shop\n 2.9% to @fee" of 1: shop 1
"remaining to @shop\n 2.9% to @fee" of 2: shop 2
"remaining to @shop\n 2.9% to @fee" of 10: shop 10
"remaining to @shop\n 2.9% to @fee" of 100: shop 98 fee 2
"remaining to @shop\n 2.9% to @fee" of 10000: shop 9710 fee 290
SEEN
