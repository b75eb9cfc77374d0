package pricing_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// effectCase is a small cart with coupons that often take more than the units cost.
func effectCase(t *testing.T, r *rand.Rand) (pricing.Cart, []pricing.Terms) {
	t.Helper()
	cart := pricing.Cart{Currency: pricing.EUR(), Step: []int64{0, 0, 5}[r.IntN(3)]}
	for range 1 + r.IntN(3) {
		price := []int64{0, 5, 10, 15, 100}[r.IntN(5)]
		if cart.Step == 0 {
			price = []int64{0, 1, 3, 10, 100}[r.IntN(5)]
		}
		cart.Lines = append(cart.Lines, pricing.Line{Kind: "shoe", ItemID: "s", Quantity: 1 + r.Int64N(4), UnitPrice: price})
	}
	discounts := slices.Collect(func(yield func(pricing.Discount) bool) {
		for _, text := range []string{"100", "60", "50", "20", "1"} {
			for _, d := range []pricing.DiscountTerms{
				{Type: pricing.Percentage, Lane: pricing.ItemLane},
				{Type: pricing.Percentage},
				{Type: pricing.Percentage, Lane: pricing.ItemLane, MaxUnits: 1},
				{Type: pricing.CheapestUnits, Units: 2},
				{Type: pricing.BuyXGetY, BuyQuantity: 1, GetQuantity: 1},
			} {
				d.Percent = percent(t, text)
				if !yield(discountOf(t, d)) {
					return
				}
			}
		}
		for _, d := range []pricing.DiscountTerms{
			{Type: pricing.FixedAmount, Amount: 10}, {Type: pricing.FixedAmountPerUnit, Amount: 5}, {Type: pricing.FixedUnitPrice, Amount: 5},
		} {
			d.Currency = pricing.EUR()
			if !yield(discountOf(t, d)) {
				return
			}
		}
	})
	var terms []pricing.Terms
	for i := range 1 + r.IntN(5) {
		one := pricing.Terms{ID: string(rune('a' + i)), Group: string(rune('a' + i)), Discount: discounts[r.IntN(len(discounts))]}
		if r.IntN(3) == 0 {
			for range cart.Lines {
				one.Eligible = append(one.Eligible, r.IntN(2) == 0)
			}
		}
		terms = append(terms, one)
	}
	return cart, terms
}

// TestEffects: the effect of a coupon is what its cart costs without it. A coupon that gives Nothing
// also leaves what every other coupon takes off.
func TestEffects(t *testing.T) {
	t.Parallel()
	var seen [pricing.Lowering + 1]int
	uncertain := map[bool]int{}
	for seed := range 8_000 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		cart, terms := effectCase(t, r)
		if seed%4 == 0 {
			cart, terms = hostileCase(r)
		}
		q, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		copied := q.Clone()
		for i, c := range q.Coupons {
			rest := slices.DeleteFunc(slices.Clone(terms), func(t pricing.Terms) bool { return t.ID == c.ID })
			without, err := pricing.Price(cart, rest...)
			require.NoError(t, err)
			effect := q.Effect(i)
			require.Equal(t, effect, copied.Effect(i))
			seen[effect]++
			switch effect {
			case pricing.Nothing:
				require.Zero(t, c.Discount)
				for _, other := range without.Coupons {
					at := slices.IndexFunc(q.Coupons, func(c pricing.QuotedCoupon) bool { return c.ID == other.ID })
					require.Equal(t, q.Coupons[at].Discount, other.Discount, "case %d: %v without %s", seed, q, c.ID)
				}
			case pricing.Redundant:
				require.Equal(t, q.Total, without.Total, "case %d: %v without %s", seed, q, c.ID)
				require.True(t, q.ReachesZero())
			case pricing.Lowering:
				require.Less(t, q.Total, without.Total, "case %d: %v without %s", seed, q, c.ID)
			case pricing.Uncertain:
				require.Equal(t, pricing.ItemLane, c.Terms.Lane())
				uncertain[q.Total == without.Total]++
			}
		}
	}
	require.NotContains(t, seen, 0)
	require.Positive(t, uncertain[true])
	require.Positive(t, uncertain[false])
}

// A quote that was read knows no effects, but for coupons that take nothing off.
func TestEffectsOfAStoredQuote(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: "shoe", ItemID: "s", Quantity: 1, UnitPrice: 100}}}
	terms := []pricing.Terms{
		{ID: "a", Group: "a", Discount: pricing.PercentOff(percent(t, "10"))},
		{ID: "b", Group: "b", Discount: pricing.PercentOff(percent(t, "10")), Eligible: []bool{false}},
	}
	q, err := pricing.Price(cart, terms...)
	require.NoError(t, err)
	read := stored(t, q)
	require.Equal(t, []pricing.Effect{pricing.Lowering, pricing.Nothing}, []pricing.Effect{q.Effect(0), q.Effect(1)})
	require.Equal(t, []pricing.Effect{pricing.Uncertain, pricing.Nothing}, []pricing.Effect{read.Effect(0), read.Effect(1)})
}
