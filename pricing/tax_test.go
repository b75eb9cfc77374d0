package pricing_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
)

// taxOracle is the tax of what was returned, by docs/refunds.md: unit by unit, with rational numbers.
func taxOracle(o *refundOracle, tax pricing.Tax) int64 {
	step := max(o.q.Step, 1)
	rounded := func(amount int64, part, whole int64) int64 {
		if part == whole && whole > 0 {
			return amount
		}
		if part == 0 {
			return 0
		}
		exact := new(big.Rat).Mul(rat(amount/step), big.NewRat(part, whole))
		half := exact.Add(exact, big.NewRat(1, 2))
		return step * new(big.Int).Div(half.Num(), half.Denom()).Int64()
	}
	all, paid := true, int64(0)
	for _, u := range o.units {
		all = all && u.returned
		if u.returned {
			paid += u.paid
		}
	}
	switch {
	case all:
		return tax.Amount
	case len(tax.Lines) == 0:
		return rounded(tax.Amount, o.refunded, o.q.Total)
	}
	sum := int64(0)
	for _, l := range tax.Lines {
		part, whole, complete := int64(0), int64(0), true
		for _, u := range o.units {
			if o.q.Lines[u.line].ID != l.LineID {
				continue
			}
			whole += u.paid
			if u.returned {
				part += u.paid
			}
			complete = complete && u.returned
		}
		if complete {
			sum += l.Amount
		} else {
			sum += rounded(l.Amount, part, whole)
		}
	}
	return rounded(sum, o.refunded, paid)
}

// randomTax is a tax of the quote, by line or not, at rates of its own for every line.
func randomTax(r *rand.Rand, q pricing.Quote) (tax pricing.Tax) {
	step := max(q.Step, 1)
	if r.IntN(3) == 0 {
		step = 1 // a tax need not be a multiple of the step
	}
	byID := map[string]int64{}
	for _, l := range q.Lines {
		amount := int64(0)
		if r.IntN(4) > 0 {
			amount = step * r.Int64N(l.Total/step+2)
		}
		tax.Amount += amount
		byID[l.ID] += amount
	}
	if r.IntN(3) == 0 {
		return tax
	}
	for _, l := range q.Lines {
		if amount, found := byID[l.ID]; found && (amount > 0 || r.IntN(2) == 0) {
			tax.Lines = append(tax.Lines, pricing.LineTax{LineID: l.ID, Amount: amount})
		}
		delete(byID, l.ID)
	}
	return tax
}

// Whatever is returned in whatever steps: the tax of what was returned is that of the oracle, it is
// never negative, and when everything is returned it is the whole tax.
func TestTaxOfRefunds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, r := drawQuote(t, rapid.Bool().Draw(t, "policies"))
		tax := randomTax(r, q)
		require.NoError(t, q.CheckTax(tax))
		oracle, keep := newRefundOracle(q), true
		for _, c := range q.Coupons {
			keep = keep && c.Refund.Policy == pricing.Keep
		}
		var before pricing.Refunded
		given := int64(0)
		for left := unitsLeft(q, before); sumOfUnits(left) > 0; left = unitsLeft(q, before) {
			refund := giveBack(t, q, &before, randomReturns(r, q, left))
			counts := map[int]int64{}
			for _, l := range refund.Lines {
				counts[l.Line] = l.Quantity
			}
			oracle.give(counts)
			got, err := q.TaxOf(tax, before)
			require.NoError(t, err)
			require.Equal(t, taxOracle(oracle, tax), got, "%+v after %+v of %+v", tax, before, q)
			require.True(t, 0 <= got && got <= tax.Amount)
			require.True(t, got >= given || !keep, "with the policy keep, a tax never sinks")
			given = got
		}
		if len(q.Lines) > 0 {
			require.Equal(t, tax.Amount, given)
		}
	})
}

// TestTaxOfPartialRefunds has the examples of docs/refunds.md.
func TestTaxOfPartialRefunds(t *testing.T) {
	t.Parallel()
	ten := pricing.Terms{ID: "c", Discount: pricing.PercentOff(percent(t, "10"))}
	quote := func(lines []pricing.Line, terms ...pricing.Terms) pricing.Quote {
		q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: lines}, terms...)
		require.NoError(t, err)
		return q
	}
	goods := func(quantity, price int64) []pricing.Line {
		return []pricing.Line{{ID: "A", Kind: "book", Quantity: quantity, UnitPrice: price}}
	}
	unit := func(line int) pricing.Returns {
		return pricing.Returns{Lines: []pricing.LineReturn{{Line: line, Quantity: 1}}}
	}
	all := pricing.Returns{All: true}
	shipped := append(goods(2, 50_00), pricing.Line{ID: "F", Kind: "food", Quantity: 1, UnitPrice: 10_00}, pricing.Line{ID: "S", Kind: pricing.Shipping, Quantity: 1, UnitPrice: 5_00})
	byLine := pricing.Tax{Amount: 19_80, Lines: []pricing.LineTax{{LineID: "A", Amount: 18_00}, {LineID: "F", Amount: 80}, {LineID: "S", Amount: 1_00}}}
	rebill := ten
	rebill.Refund = pricing.RefundTerms{Policy: pricing.Rebill, MinQuantity: 2}
	for name, test := range map[string]struct {
		q    pricing.Quote
		tax  pricing.Tax
		now  []pricing.Returns
		want []int64 // goods and tax of every refund, one after the other
	}{
		"everything":         {quote(goods(2, 50_00), ten), pricing.Tax{Amount: 18_00}, []pricing.Returns{all}, []int64{90_00, 18_00}},
		"one, then the rest": {quote(goods(2, 50_00), ten), pricing.Tax{Amount: 18_00}, []pricing.Returns{unit(0), all}, []int64{45_00, 9_00, 45_00, 9_00}},
		"a rounding cent":    {quote(goods(3, 5_00)), pricing.Tax{Amount: 1_00}, []pricing.Returns{unit(0), unit(0), unit(0)}, []int64{5_00, 33, 5_00, 34, 5_00, 33}},
		"a rounding cent of a line": {
			quote(goods(3, 5_00)),
			pricing.Tax{Amount: 1_00, Lines: []pricing.LineTax{{LineID: "A", Amount: 1_00}}},
			[]pricing.Returns{unit(0), unit(0), unit(0)},
			[]int64{5_00, 33, 5_00, 34, 5_00, 33},
		},
		"lines at different rates": {quote(shipped, ten), byLine, []pricing.Returns{unit(1), unit(0), {Shipping: true}, all}, []int64{9_00, 80, 45_00, 9_00, 5_00, 1_00, 45_00, 9_00}},
		"a tax without lines":      {quote(shipped, ten), pricing.Tax{Amount: 19_80}, []pricing.Returns{unit(1), all}, []int64{9_00, 1_71, 95_00, 18_09}},
		"a tax of unknown lines": {
			quote(shipped, ten),
			pricing.Tax{Amount: 19_80, Lines: []pricing.LineTax{{LineID: "X", Amount: 19_80}}},
			[]pricing.Returns{unit(1), all},
			[]int64{9_00, 1_71, 95_00, 18_09},
		},
		"the rest earns no discount": {
			quote(goods(2, 50_00), rebill),
			pricing.Tax{Amount: 18_00, Lines: []pricing.LineTax{{LineID: "A", Amount: 18_00}}},
			[]pricing.Returns{unit(0), all},
			[]int64{40_00, 8_00, 50_00, 10_00},
		},
		"no tax":           {quote(goods(1, 50_00)), pricing.Tax{}, []pricing.Returns{all}, []int64{50_00, 0}},
		"a negative tax":   {quote(goods(1, 50_00)), pricing.Tax{Amount: -5}, []pricing.Returns{all}, []int64{50_00, 0}},
		"a tax on nothing": {quote(goods(2, 0)), pricing.Tax{Amount: 5}, []pricing.Returns{unit(0), all}, []int64{0, 0, 0, 5}},
		"lines of the same ID": {
			quote(append(goods(1, 10_00), goods(1, 30_00)...)),
			pricing.Tax{Amount: 4_00, Lines: []pricing.LineTax{{LineID: "A", Amount: 4_00}}},
			[]pricing.Returns{unit(0), all},
			[]int64{10_00, 1_00, 30_00, 3_00},
		},
	} {
		var before pricing.Refunded
		var got []int64
		given := int64(0)
		for _, now := range test.now {
			refund, err := test.q.Refund(before, now)
			require.NoError(t, err, name)
			before.Add(refund)
			tax, err := test.q.TaxOf(test.tax, before)
			require.NoError(t, err, name)
			got = append(got, refund.Amount, tax-given)
			given = tax
		}
		require.Equal(t, test.want, got, name)
	}
}

func TestTaxOfWrongSums(t *testing.T) {
	t.Parallel()
	q := refundable(t)
	for field, before := range map[string]pricing.Refunded{
		"before.units":     {Units: make([]int64, len(q.Lines)+1)},
		"before.units[0]":  {Units: []int64{-1}},
		"before.discounts": {Discounts: make([]int64, len(q.Coupons)+1)},
		"before.amount":    {Amount: q.Total + 1},
	} {
		_, err := q.TaxOf(pricing.Tax{Amount: 1}, before)
		require.Contains(t, faultsOf(err), field)
	}
	most := pricing.Tax{Amount: math.MaxInt64}
	tax, err := q.TaxOf(most, pricing.Refunded{Amount: q.Total - 1})
	require.NoError(t, err)
	require.Positive(t, tax)
}
