package pricing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// A unit counts only if it gives something, and it is bought only if it costs something. The
// discounts of the lines are worked out by hand from contract section 2.
func TestUnitsThatGiveNothingDoNotCount(t *testing.T) {
	t.Parallel()
	eur, free, half := pricing.EUR(), percent(t, "100"), percent(t, "50")
	of := func(d pricing.DiscountTerms) []pricing.Terms {
		return []pricing.Terms{{ID: "a", Group: "a", Discount: discountOf(t, d)}}
	}
	buyOne := pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: free, BuyQuantity: 1, GetQuantity: 1}
	scoped := func(eligible, bought []bool) []pricing.Terms {
		return []pricing.Terms{{Discount: discountOf(t, buyOne), Eligible: eligible, Bought: bought}}
	}
	tier := pricing.DiscountTerms{Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Tiers: []pricing.Tier{{From: 2, Percent: half}, {From: 3, Percent: free}}}
	gift := pricing.Terms{ID: "gift", Group: "gift", Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: free})}
	type line struct{ quantity, price int64 }
	for name, c := range map[string]struct {
		lines []line
		terms []pricing.Terms
		want  []int64
	}{
		"buy 1 get 1 of a sample and two shoes":      {[]line{{1, 0}, {2, 5000}}, of(buyOne), []int64{0, 5000}},
		"buy 1 get 1 of a sample and four shoes":     {[]line{{1, 0}, {4, 5000}}, of(buyOne), []int64{0, 10000}},
		"buy 1 get 1 of samples alone":               {[]line{{4, 0}}, of(buyOne), []int64{0}},
		"free SIM cards do not buy earbuds":          {[]line{{3, 0}, {3, 9900}}, scoped([]bool{false, true}, []bool{true, false}), []int64{0, 0}},
		"one SIM card that costs a cent buys one":    {[]line{{3, 0}, {3, 9900}, {1, 1}}, scoped([]bool{false, true, false}, []bool{true, false, true}), []int64{0, 9900, 0}},
		"a sample is not what is got":                {[]line{{1, 100}, {1, 0}, {1, 500}}, scoped([]bool{false, true, true}, []bool{true, false, false}), []int64{0, 0, 500}},
		"the cheapest unit beside a sample":          {[]line{{1, 0}, {1, 1000}}, of(pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: free, Units: 1}), []int64{0, 1000}},
		"half of one unit beside a sample":           {[]line{{1, 0}, {1, 1000}}, of(pricing.DiscountTerms{Type: pricing.Percentage, Percent: half, MaxUnits: 1}), []int64{0, 500}},
		"half of one unit in the item lane":          {[]line{{2, 0}, {1, 1000}}, of(pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: half, MaxUnits: 1}), []int64{0, 500}},
		"an amount off one unit beside a sample":     {[]line{{1, 0}, {1, 1000}}, of(pricing.DiscountTerms{Type: pricing.FixedAmount, Amount: 300, Currency: eur, MaxUnits: 1}), []int64{0, 300}},
		"an amount per unit, of one unit":            {[]line{{1, 0}, {2, 1000}}, of(pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Amount: 300, Currency: eur, MaxUnits: 1}), []int64{0, 300}},
		"a unit price of one unit that costs more":   {[]line{{1, 300}, {1, 2000}}, of(pricing.DiscountTerms{Type: pricing.FixedUnitPrice, Amount: 500, Currency: eur, MaxUnits: 1}), []int64{0, 1500}},
		"a unit that costs the unit price":           {[]line{{1, 500}, {1, 501}}, of(pricing.DiscountTerms{Type: pricing.FixedUnitPrice, Amount: 500, Currency: eur, MaxUnits: 1}), []int64{0, 1}},
		"a sample does not reach a tier by quantity": {[]line{{1, 0}, {2, 1000}}, of(tier), []int64{0, 1000}},
		"nor the first one":                          {[]line{{5, 0}, {1, 1000}}, of(tier), []int64{0, 0}},
		"a unit that the item lane made free": { // the gift takes all of the first line
			[]line{{1, 100}, {1, 1000}},
			append(of(pricing.DiscountTerms{Type: pricing.Percentage, Percent: half, MaxUnits: 1}), pricing.Terms{ID: gift.ID, Group: gift.Group, Discount: gift.Discount, Eligible: []bool{true, false}}),
			[]int64{100, 500},
		},
		"a tier goes by the list": { // two units cost something there
			[]line{{1, 100}, {1, 1000}},
			append(of(tier), pricing.Terms{ID: gift.ID, Group: gift.Group, Discount: gift.Discount, Eligible: []bool{true, false}}),
			[]int64{100, 500},
		},
	} {
		for _, step := range []int64{0, 5} {
			cart := pricing.Cart{Currency: eur, Step: step}
			for _, l := range c.lines {
				cart.Lines = append(cart.Lines, pricing.Line{Kind: "shoe", Quantity: l.quantity, UnitPrice: l.price})
			}
			if cart.Validate() != nil {
				continue // a price that is off the step
			}
			q, err := pricing.Price(cart, c.terms...)
			require.NoError(t, err, name)
			require.NoError(t, q.Validate(), name)
			var got []int64
			for _, l := range q.Lines {
				got = append(got, l.Discount)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, step %d: line discounts (-want +got):\n%s", name, step, diff)
			}
		}
	}
}

// The quote records how many of the covered units cost something.
func TestTheQuantityOfACoupon(t *testing.T) {
	t.Parallel()
	half := pricing.PercentOff(percent(t, "50"))
	cart := euros(0, 100, 200)
	cart.Lines[0].Quantity, cart.Lines[1].Quantity = 4, 2
	cart.Lines = append(cart.Lines, pricing.Line{Kind: pricing.Shipping, Quantity: 1, UnitPrice: 0}, pricing.Line{Kind: pricing.Shipping, Quantity: 1, UnitPrice: 300})
	for want, terms := range map[int64]pricing.Terms{
		3: {Discount: half},
		2: {Discount: half, Eligible: []bool{true, true, false, true, true}},
		1: {Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: percent(t, "50"), Units: 9}), Eligible: []bool{true, false, true, false, false}},
	} {
		q, err := pricing.Price(cart, terms)
		require.NoError(t, err)
		require.Equal(t, want, q.Coupons[0].EligibleQuantity)
		require.True(t, stored(t, q).Equal(q))
	}
}

// ReachesZero looks at units, in quotes that tell units apart and in quotes that do not.
func TestUnitsAtZero(t *testing.T) {
	t.Parallel()
	of := func(d pricing.DiscountTerms) pricing.Discount { return discountOf(t, d) }
	cheapest := of(pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: percent(t, "100"), Units: 1})
	item := func(text string) pricing.Discount {
		return of(pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: percent(t, text)})
	}
	order := func(text string) pricing.Discount { return pricing.PercentOff(percent(t, text)) }
	for name, c := range map[string]struct {
		quantity, price int64
		discounts       []pricing.Discount
		want            bool
	}{
		"no coupon":                          {1, 100, nil, false},
		"a sample":                           {1, 0, []pricing.Discount{order("50")}, false},
		"half":                               {2, 100, []pricing.Discount{order("50")}, false},
		"all":                                {2, 100, []pricing.Discount{order("100")}, true},
		"one of two":                         {2, 100, []pricing.Discount{cheapest}, true},
		"half of a cent":                     {2, 1, []pricing.Discount{order("50")}, true},
		"two lanes":                          {3, 100, []pricing.Discount{item("50"), order("50")}, false},
		"two lanes, all":                     {3, 100, []pricing.Discount{item("50"), order("100")}, true},
		"two lanes, a cent for each":         {3, 2, []pricing.Discount{item("17"), order("20")}, false},
		"two lanes, a unit rounded to zero":  {3, 2, []pricing.Discount{item("50"), order("33.3333")}, true},
		"half of one unit and half of three": {3, 100, []pricing.Discount{of(pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: percent(t, "50"), Units: 1}), item("50")}, true},
	} {
		cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: "shoe", Quantity: c.quantity, UnitPrice: c.price}}}
		var terms []pricing.Terms
		for i, d := range c.discounts {
			id := string(rune('a' + i))
			terms = append(terms, pricing.Terms{ID: id, Group: id, Discount: d})
		}
		q, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		require.Equal(t, c.want, q.ReachesZero(), "%s: %v", name, q.Units(0))
		read := stored(t, q)
		require.Equal(t, c.want, read.ReachesZero(), "%s, stored", name)
	}
}
