package main

import (
	"bytes"
	"encoding/json"
	"math/big"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// The calculator prices a document by the words of contract section 2, in rational
// numbers of major units. It shares no code with the library, so that expected
// answers that were written with -update are not only what the program said.

// sold is a line as the calculator sees it: amounts in steps.
type sold struct {
	quantity, subtotal, discount *big.Int
	remainder                    *big.Rat
	eligible                     bool
}

type askedDocument struct {
	Step  json.Number
	Lines []struct {
		Kind      string
		Quantity  int64
		UnitPrice json.Number
	}
	Coupon struct {
		DiscountType  string
		DiscountValue json.Number
		MaxUnits      int64
	}
}

func TestVectorsAgreeWithTheCalculator(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.json"))
	require.NoError(t, err)
	calculated := 0
	for _, file := range files {
		for _, v := range readVectors(t, file) {
			var r result
			require.NoError(t, json.Unmarshal(v.Expected, &r))
			var asked askedDocument
			require.NoError(t, json.Unmarshal(v.Input, &asked))
			// The calculator has one coupon, which counts all units.
			several := bytes.Contains(v.Input, []byte(`"coupons"`))
			if !r.Applied || several || asked.Coupon.MaxUnits > 0 || !slices.Contains([]string{"PERCENTAGE", "FIXED_AMOUNT", ""}, asked.Coupon.DiscountType) {
				continue
			}
			calculated++
			if diff := cmp.Diff(calculate(t, v.Input, r), amountsOf(t, r)); diff != "" {
				t.Errorf("%s: %s (contract section %s) (-calculated +expected):\n%s", file, v.Name, v.Clause, diff)
			}
		}
	}
	require.GreaterOrEqual(t, calculated, 50, "vectors with a discount")
}

func rational(t *testing.T, text json.Number) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text.String())
	require.True(t, ok, "%q is no number", text)
	return r
}

// calculate returns discount and total of the cart, and of each line its discount
// and unit prices, one a unit, dearest first.
func calculate(t *testing.T, input []byte, r result) []string {
	t.Helper()
	var asked askedDocument
	require.NoError(t, json.Unmarshal(input, &asked))
	step := new(big.Rat).SetFrac64(1, pow10(r.Currency.Exponent()))
	if asked.Step != "" && rational(t, asked.Step).Sign() > 0 {
		step = rational(t, asked.Step)
	}
	base, total := new(big.Int), new(big.Int)
	lines := make([]sold, len(asked.Lines))
	for i, l := range asked.Lines {
		price := rational(t, l.UnitPrice)
		price.Quo(price, step)
		require.True(t, price.IsInt(), "a price is off the step")
		subtotal := new(big.Int).Mul(price.Num(), big.NewInt(l.Quantity))
		lines[i] = sold{quantity: big.NewInt(l.Quantity), subtotal: subtotal, eligible: r.Lines[i].Eligible, discount: new(big.Int)}
		require.False(t, l.Kind == "shipping" && lines[i].eligible)
		total.Add(total, subtotal)
		if lines[i].eligible {
			base.Add(base, subtotal)
		}
	}
	discount := taken(t, asked, base, step)
	spread(lines, discount, base)
	money := func(steps *big.Int) string {
		return new(big.Rat).Mul(new(big.Rat).SetInt(steps), step).FloatString(r.Currency.Exponent())
	}
	out := []string{money(discount), money(total.Sub(total, discount))}
	for _, l := range lines {
		out = append(out, money(l.discount))
		rest := new(big.Int).Sub(l.subtotal, l.discount)
		for left := l.quantity.Int64(); left > 0 && left <= 1000; left-- { // the dearest of what is left
			unit, over := new(big.Int).QuoRem(rest, big.NewInt(left), new(big.Int))
			unit.Add(unit, big.NewInt(int64(over.Sign())))
			rest.Sub(rest, unit)
			out = append(out, money(unit))
		}
	}
	return out
}

// taken is the discount in steps: rounded half-up once, or capped.
func taken(t *testing.T, asked askedDocument, base *big.Int, step *big.Rat) *big.Int {
	t.Helper()
	value := rational(t, asked.Coupon.DiscountValue)
	if asked.Coupon.DiscountType == "FIXED_AMOUNT" {
		steps := value.Quo(value, step)
		require.True(t, steps.IsInt(), "an amount is off the step")
		if steps.Num().Cmp(base) < 0 {
			return steps.Num()
		}
		return new(big.Int).Set(base)
	}
	exact := value.Mul(value, new(big.Rat).SetFrac(base, big.NewInt(100)))
	exact.Add(exact, big.NewRat(1, 2))
	return new(big.Int).Quo(exact.Num(), exact.Denom())
}

// spread gives every line the whole part of its share, and then one step each to the
// greatest remainders, the earlier line first.
func spread(lines []sold, discount, base *big.Int) {
	spare := new(big.Int).Set(discount)
	var order []*sold
	for i := range lines {
		l := &lines[i]
		if !l.eligible {
			continue
		}
		share := new(big.Rat).SetFrac(new(big.Int).Mul(discount, l.subtotal), base)
		l.discount = new(big.Int).Quo(share.Num(), share.Denom())
		l.remainder = share.Sub(share, new(big.Rat).SetInt(l.discount))
		spare.Sub(spare, l.discount)
		order = append(order, l)
	}
	slices.SortStableFunc(order, func(a, b *sold) int { return b.remainder.Cmp(a.remainder) })
	for _, l := range order[:spare.Int64()] {
		l.discount.Add(l.discount, big.NewInt(1))
	}
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// amountsOf is what the expected answer says, in the calculator's order.
func amountsOf(t *testing.T, r result) []string {
	t.Helper()
	out := []string{string(r.Discount), string(r.Total)}
	for _, l := range r.Lines {
		out = append(out, string(l.Discount))
		quantity := int64(0)
		for _, u := range l.Units {
			quantity += u.Quantity
		}
		if quantity > 1000 {
			continue
		}
		for _, u := range l.Units {
			for range u.Quantity {
				out = append(out, string(u.UnitPrice))
			}
		}
	}
	return out
}
