package pricing

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pricing line by line gives what telling all units apart gives. The prices are small, so that
// rounding leaves the units of a line uneven and coupons meet at zero.
func TestLinesAgreeWithUnits(t *testing.T) {
	t.Parallel()
	byLines, apart := 0, 0
	for seed := range uint64(40_000) {
		random := rand.New(rand.NewPCG(seed, 0))
		cart, terms := smallCart(random), smallCoupons(t, random)
		var lines, units Quote
		require.NoError(t, lines.Reprice(cart, terms...))
		if len(lines.parts) == 0 {
			apart++
			continue
		}
		byLines++
		units.reset(cart.Currency, cart.Step)
		require.True(t, units.combines(&cart, terms) && units.take(&cart, terms))
		for i := range units.Coupons {
			units.list(i, &terms[units.work.order[i]])
		}
		units.combine(&cart, terms)
		if !slices.Equal(lines.Allocations(), units.Allocations()) {
			t.Fatalf("seed %d: %d coupons on %+v: got %v, want %v", seed, len(terms), cart.Lines, lines.Allocations(), units.Allocations())
		}
	}
	require.Greater(t, byLines, 1_000)
	require.Greater(t, apart, 1_000)
}

func smallCart(random *rand.Rand) Cart {
	cart := Cart{Currency: EUR(), Lines: make([]Line, 1+random.IntN(2))}
	for i := range cart.Lines {
		cart.Lines[i] = Line{Kind: Device, Quantity: 1 + random.Int64N(4), UnitPrice: 1 + random.Int64N(60)}
	}
	return cart
}

// smallCoupons are many coupons of the item lane that take a cent or two, and some of the order
// lane that take up to everything.
func smallCoupons(t *testing.T, random *rand.Rand) (terms []Terms) {
	t.Helper()
	add := func(lane Lane, units int32) {
		d, err := NewDiscount(DiscountTerms{Type: Percentage, Lane: lane, Percent: Percent{units}})
		require.NoError(t, err)
		id := strconv.Itoa(len(terms))
		terms = append(terms, Terms{ID: id, Group: id, Discount: d})
	}
	for range random.IntN(25) {
		add(ItemLane, 5_000+random.Int32N(40_000))
	}
	for range 2 + random.IntN(3) {
		add(OrderLane, 1+random.Int32N(700_000))
	}
	return terms
}
