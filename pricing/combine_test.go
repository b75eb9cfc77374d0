package pricing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// discountOf returns the discount with the terms.
func discountOf(tb testing.TB, t pricing.DiscountTerms) pricing.Discount {
	tb.Helper()
	d, err := pricing.NewDiscount(t)
	require.NoError(tb, err)
	return d
}

// goldenDiscounts are one discount of each type.
func goldenDiscounts(tb testing.TB) map[string]pricing.Discount {
	tb.Helper()
	eur, half, free := pricing.EUR(), percent(tb, "50"), percent(tb, "100")
	return map[string]pricing.Discount{
		"PERCENTAGE":            discountOf(tb, pricing.DiscountTerms{Type: pricing.Percentage, Percent: half}),
		"FIXED_AMOUNT":          discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedAmount, Amount: 1000, Currency: eur}),
		"FIXED_AMOUNT_PER_UNIT": discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Amount: 300, Currency: eur}),
		"FIXED_UNIT_PRICE":      discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedUnitPrice, Amount: 500, Currency: eur}),
		"CHEAPEST_UNITS":        discountOf(tb, pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: free, Units: 2}),
		"BUY_X_GET_Y":           discountOf(tb, pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: free, BuyQuantity: 2, GetQuantity: 1}),
		"TIERED": discountOf(tb, pricing.DiscountTerms{
			Type: pricing.Tiered, Currency: eur, TierBasis: pricing.ByAmount,
			Tiers: []pricing.Tier{{From: 1000, Percent: percent(tb, "10")}, {From: 3000, Amount: 700}},
		}),
	}
}

// Golden vectors: A 2 x 10.00, B 1 x 5.00, C 3 x 3.00 and shipping of 4.00. The line discounts are
// worked out by hand from contract section 2.
func TestDiscountsByHand(t *testing.T) {
	t.Parallel()
	eur, free := pricing.EUR(), percent(t, "100")
	of := goldenDiscounts(t)
	with := func(name string, change func(*pricing.DiscountTerms)) pricing.Discount {
		terms := of[name].Terms()
		change(&terms)
		return discountOf(t, terms)
	}
	onlyA, onlyC := []bool{true, false, false, false}, []bool{false, false, true, true}
	for name, c := range map[string]struct {
		terms []pricing.Terms
		want  []int64
	}{
		"percentage":            {[]pricing.Terms{{Discount: of["PERCENTAGE"]}}, []int64{1000, 250, 450}},
		"fixed amount":          {[]pricing.Terms{{Discount: of["FIXED_AMOUNT"]}}, []int64{588, 147, 265}},
		"amount per unit":       {[]pricing.Terms{{Discount: of["FIXED_AMOUNT_PER_UNIT"]}}, []int64{600, 300, 900}},
		"unit price":            {[]pricing.Terms{{Discount: of["FIXED_UNIT_PRICE"]}}, []int64{1000, 0, 0}},
		"cheapest":              {[]pricing.Terms{{Discount: of["CHEAPEST_UNITS"]}}, []int64{0, 0, 600}},
		"buy 2 get 1":           {[]pricing.Terms{{Discount: of["BUY_X_GET_Y"]}}, []int64{0, 0, 600}},
		"second tier":           {[]pricing.Terms{{Discount: of["TIERED"]}}, []int64{412, 103, 185}},
		"first tier":            {[]pricing.Terms{{Discount: of["TIERED"], Eligible: onlyA}}, []int64{200, 0, 0}},
		"below the first tier":  {[]pricing.Terms{{Discount: of["TIERED"], Eligible: onlyC}}, []int64{0, 0, 0}},
		"percentage, 4 units":   {[]pricing.Terms{{Discount: with("PERCENTAGE", func(d *pricing.DiscountTerms) { d.MaxUnits = 4 })}}, []int64{0, 250, 450}},
		"fixed amount, 2 units": {[]pricing.Terms{{Discount: with("FIXED_AMOUNT", func(d *pricing.DiscountTerms) { d.MaxUnits = 2 })}}, []int64{0, 0, 600}},
		"per unit, 5 units":     {[]pricing.Terms{{Discount: with("FIXED_AMOUNT_PER_UNIT", func(d *pricing.DiscountTerms) { d.MaxUnits = 5 })}}, []int64{300, 300, 900}},
		"per unit, capped":      {[]pricing.Terms{{Discount: with("FIXED_AMOUNT_PER_UNIT", func(d *pricing.DiscountTerms) { d.MaxDiscount, d.Currency = 100, eur })}}, []int64{33, 17, 50}},
		"unit price, capped":    {[]pricing.Terms{{Discount: with("FIXED_UNIT_PRICE", func(d *pricing.DiscountTerms) { d.MaxDiscount, d.Currency = 333, eur })}}, []int64{333, 0, 0}},
		"percentage, capped":    {[]pricing.Terms{{Discount: with("PERCENTAGE", func(d *pricing.DiscountTerms) { d.MaxDiscount, d.Currency = 34, eur })}}, []int64{20, 5, 9}},
		"buy 2 get 1, once":     {[]pricing.Terms{{Discount: with("BUY_X_GET_Y", func(d *pricing.DiscountTerms) { d.MaxApplications = 1 })}}, []int64{0, 0, 300}},
		"buy 2 of A, get 1 of C": {
			[]pricing.Terms{{Discount: of["BUY_X_GET_Y"], Eligible: onlyC, Bought: onlyA}}, []int64{0, 0, 300},
		},
		"buy 2 of C, get 1 of C": {
			[]pricing.Terms{{Discount: of["BUY_X_GET_Y"], Eligible: onlyC, Bought: onlyC}}, []int64{0, 0, 300},
		},
		"the order lane sees what is left": {
			[]pricing.Terms{
				{ID: "half", Group: "1", Discount: of["PERCENTAGE"]},
				{ID: "price", Group: "2", Discount: of["FIXED_UNIT_PRICE"]},
			},
			[]int64{1500, 250, 450}, // 10.00 off A, then half of 10.00, 5.00 and 9.00
		},
		"two of a lane, computed from its entry": {
			[]pricing.Terms{
				{ID: "half", Group: "1", Discount: of["PERCENTAGE"]},
				{ID: "ten", Group: "2", Discount: of["FIXED_AMOUNT"]},
			},
			[]int64{1588, 397, 715},
		},
		"cut at zero": {
			[]pricing.Terms{
				{ID: "a", Group: "1", Discount: with("FIXED_AMOUNT_PER_UNIT", func(d *pricing.DiscountTerms) { d.Amount = 200 })},
				{ID: "b", Group: "2", Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: free, Units: 3})},
			},
			[]int64{400, 200, 900},
		},
	} {
		cart := euros(1000, 500, 300)
		cart.Lines[0].Quantity, cart.Lines[2].Quantity = 2, 3
		cart.Lines = append(cart.Lines, pricing.Line{ID: "S", Kind: pricing.Shipping, Quantity: 1, UnitPrice: 400})
		q, err := pricing.Price(cart, c.terms...)
		require.NoError(t, err, name)
		got := []int64{q.Lines[0].Discount, q.Lines[1].Discount, q.Lines[2].Discount}
		if diff := cmp.Diff(append(c.want, 0), append(got, q.Lines[3].Discount)); diff != "" {
			t.Errorf("%s: line discounts (-want +got):\n%s", name, diff)
		}
		require.NoError(t, q.Validate(), name)
	}
}

// What is cut is spread by largest remainder over the coupons; ties go to the lesser ID.
func TestCutByHand(t *testing.T) {
	t.Parallel()
	perUnit := func(amount int64) pricing.Discount {
		return discountOf(t, pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Amount: amount, Currency: pricing.EUR()})
	}
	cart := euros(5, 1)
	q, err := pricing.Price(
		cart, pricing.Terms{ID: "c", Group: "c", Discount: perUnit(4)}, pricing.Terms{ID: "a", Group: "a", Discount: perUnit(4)},
		pricing.Terms{ID: "b", Group: "b", Discount: perUnit(4)},
	)
	require.NoError(t, err)
	want := []pricing.Allocation{ // 5 over 4, 4, 4, and 1 over 1, 1, 1
		{Coupon: 0, Line: 0, Quantity: 1, Amount: 2},
		{Coupon: 1, Line: 0, Quantity: 1, Amount: 2},
		{Coupon: 2, Line: 0, Quantity: 1, Amount: 1},
		{Coupon: 0, Line: 1, Quantity: 1, Amount: 1},
	}
	if diff := cmp.Diff(want, q.Allocations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every fault of a set of coupons is named by its path, all at once.
func TestSetsThatCannotBePriced(t *testing.T) {
	t.Parallel()
	half := pricing.PercentOff(percent(t, "50"))
	cart := euros(100)
	for name, c := range map[string]struct {
		terms []pricing.Terms
		want  map[string]validation.Code
	}{
		"the same coupon twice": {
			[]pricing.Terms{{ID: "a", Group: "1", Discount: half}, {ID: "a", Group: "2", Discount: half}},
			map[string]validation.Code{"coupons[1].id": validation.Mismatch},
		},
		"no ID, an exclusive one, and masks of other carts": {
			[]pricing.Terms{
				{ID: "", Group: "1", Discount: half, Eligible: []bool{}},
				{ID: "b", Discount: amountOff(t, "1", "USD"), Bought: []bool{true}},
			},
			map[string]validation.Code{
				"coupons[0].id": validation.Required, "coupons[0].group": validation.NotAllowed, "coupons[0].eligible": validation.Mismatch,
				"coupons[1].group": validation.NotAllowed, "coupons[1].bought": validation.NotAllowed, "coupons[1].currency": validation.Mismatch,
			},
		},
		"two of one group": {
			[]pricing.Terms{{ID: "a", Group: "1", Discount: half}, {ID: "b", Group: "1", Discount: half}, {ID: "c", Group: "2", Discount: half}},
			map[string]validation.Code{"coupons[0].group": validation.NotAllowed, "coupons[1].group": validation.NotAllowed},
		},
		"33 coupons": {make([]pricing.Terms, 33), map[string]validation.Code{"coupons": validation.TooLong}},
		"an ID and a group that are not UTF-8": {
			[]pricing.Terms{{ID: "\xff", Group: "\xff", Discount: half}},
			map[string]validation.Code{"id": validation.Malformed, "group": validation.Malformed},
		},
		"a long ID": {
			[]pricing.Terms{{ID: strings.Repeat("a", 256), Discount: half}}, map[string]validation.Code{"id": validation.TooLong},
		},
	} {
		q, err := pricing.Price(cart, c.terms...)
		if diff := cmp.Diff(c.want, faultsOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		require.True(t, q.Equal(pricing.Quote{}), name)
	}
}

// hostileCase is a cart with amounts and quantities around the bounds of 64 bits.
func hostileCase(r *rand.Rand) (pricing.Cart, []pricing.Terms) {
	cart, terms := randomCase(r)
	step := max(cart.Step, 1)
	for i := range cart.Lines {
		l := &cart.Lines[i]
		switch r.IntN(4) {
		case 0:
			l.Quantity = 1 + r.Int64N(math.MaxInt64/8)
			l.UnitPrice = 0
		case 1:
			l.Quantity = 1 + r.Int64N(1<<31)
			l.UnitPrice = r.Int64N(1<<28) / step * step
		case 2:
			l.Quantity, l.UnitPrice = 1, r.Int64N(math.MaxInt64/8)/step*step
		}
	}
	return cart, terms
}

// TestBoundsOfCombinations: whatever the cart and the set, the quote is consistent, no line is
// below zero, shipping is never discounted, allocations sum to the coupons' amounts, each amount
// is within its cap and base, the order of the coupons changes no byte, and what is stored is
// read back.
func TestBoundsOfCombinations(t *testing.T) {
	t.Parallel()
	cases := testsize.Of(2_000, 20_000)
	var q pricing.Quote
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 42))
		cart, terms := hostileCase(r)
		require.NoError(t, q.Reprice(cart, terms...), "case %d", seed)
		if fault := boundsFault(q, terms); fault != "" {
			t.Fatalf("case %d: %s\n%+v\n%+v", seed, fault, cart, terms)
		}
		text, err := json.Marshal(q)
		require.NoError(t, err, "case %d", seed)
		r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		other, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		again, err := json.Marshal(other)
		require.NoError(t, err)
		if !bytes.Equal(text, again) || !other.Equal(q) || !q.Clone().Equal(other) {
			t.Fatalf("case %d: another order gives\n%s\nand\n%s", seed, text, again)
		}
		var read pricing.Quote
		require.NoError(t, json.Unmarshal(text, &read), "case %d: %s", seed, text)
		if diff := cmp.Diff(q, read); diff != "" {
			t.Fatalf("case %d, read back (-want +got):\n%s", seed, diff)
		}
	}
}

func boundsFault(q pricing.Quote, terms []pricing.Terms) string {
	if err := q.Validate(); err != nil {
		return err.Error()
	}
	sums := make([]int64, len(q.Coupons))
	for _, a := range q.Allocations() {
		sums[a.Coupon] += a.Amount * a.Quantity
		if q.Lines[a.Line].ClassOf() == pricing.ShippingClass || !q.Covers(a.Coupon, a.Line) {
			return fmt.Sprintf("line %d is discounted", a.Line)
		}
	}
	for i, c := range q.Coupons {
		most := c.EligibleSubtotal
		if limit := c.Terms.Terms().MaxDiscount; limit > 0 {
			most = min(most, limit)
		}
		if c.Discount != sums[i] || c.Discount < 0 || c.Discount > most {
			return fmt.Sprintf("coupon %s takes %d, its allocations %d, at most %d", c.ID, c.Discount, sums[i], most)
		}
	}
	if len(q.Coupons) != len(terms) {
		return "a coupon is missing"
	}
	for i, l := range q.Lines {
		if l.Total < 0 || l.Total > l.Subtotal {
			return fmt.Sprintf("line %d costs %d", i, l.Total)
		}
	}
	return ""
}

// TestOneMoreUnit: without tiers and buy x get y, one more unit never makes the total smaller by
// more than its own price. Package eligibility has the property for conditions.
func TestOneMoreUnit(t *testing.T) {
	t.Parallel()
	cases := testsize.Of(4_000, 40_000)
	dropped, kept := make(map[pricing.DiscountType]bool), make(map[pricing.DiscountType]bool)
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 43))
		cart, terms := randomCase(r)
		if len(cart.Lines) == 0 {
			continue
		}
		kinds, jumps := make(map[pricing.DiscountType]bool), make(map[pricing.DiscountType]bool)
		q, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		for _, c := range q.Coupons {
			if kind := c.Terms.Type(); kind == pricing.Tiered || kind == pricing.BuyXGetY {
				jumps[kind] = true
			} else if c.Discount > 0 {
				kinds[kind] = true
			}
		}
		price := oneMore(r, &cart, terms)
		more, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		switch fell := more.Total < q.Total-price; {
		case len(jumps) == 0 && fell:
			t.Fatalf("case %d: %d with, %d without a unit of %d\n%+v\n%+v", seed, more.Total, q.Total, price, cart, terms)
		case len(jumps) == 0:
			maps.Copy(kept, kinds)
		case len(jumps) == 1 && fell:
			maps.Copy(dropped, jumps)
		}
	}
	for kind := pricing.Percentage; kind < pricing.BuyXGetY; kind++ {
		require.True(t, kept[kind], "no case of %s took anything off", kind)
	}
	if testsize.Long() {
		require.True(t, dropped[pricing.Tiered] && dropped[pricing.BuyXGetY], "a tier and a bought unit can make the total smaller: %v", dropped)
	}
}

// oneMore adds a unit to a line of the cart, or as a line of its own with the same price. It
// returns the price.
func oneMore(r *rand.Rand, cart *pricing.Cart, terms []pricing.Terms) int64 {
	i := r.IntN(len(cart.Lines))
	l := cart.Lines[i]
	if r.IntN(2) == 0 {
		cart.Lines[i].Quantity++
		return l.UnitPrice
	}
	l.ID, l.Quantity = "another", 1
	cart.Lines = append(cart.Lines, l)
	for j := range terms {
		if mask := &terms[j].Eligible; *mask != nil {
			*mask = append(*mask, (*mask)[i])
		}
		if mask := &terms[j].Bought; *mask != nil {
			*mask = append(*mask, (*mask)[i])
		}
	}
	return l.UnitPrice
}

// Repricing allocates nothing once warm, whatever the coupons and however many.
func TestRepricingSetsAllocatesNothing(t *testing.T) {
	var q pricing.Quote
	for n := range pricing.MaxCoupons + 1 {
		cart, terms := benchmarkCart(10), manyCoupons(t, n)
		require.NoError(t, q.Reprice(cart, terms...))
		if n := testing.AllocsPerRun(3, func() { _ = q.Reprice(cart, terms...) }); n != 0 {
			t.Fatalf("%d coupons allocate %g times", len(terms), n)
		}
	}
	for seed := range 200 {
		cart, terms := randomCase(rand.New(rand.NewPCG(uint64(seed), 44)))
		require.NoError(t, q.Reprice(cart, terms...))
		if n := testing.AllocsPerRun(3, func() { _ = q.Reprice(cart, terms...) }); n != 0 {
			t.Fatalf("case %d allocates %g times: %+v", seed, n, terms)
		}
	}
}

// Coupons that each take all or nearly all of a line of the greatest price: what they take in sum
// does not fit in an int64, nor in 64 bits.
func TestCouponsThatTakeMoreThanAnInt64(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 1, UnitPrice: math.MaxInt64}}}
	var terms []pricing.Terms
	for i, most := range []string{"100", "100", "99.9999", "100", "99"} {
		d, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: percent(t, most)})
		require.NoError(t, err)
		terms = append(terms, pricing.Terms{ID: strconv.Itoa(i), Group: strconv.Itoa(i), Discount: d})
		q, err := pricing.Price(cart, terms...)
		require.NoError(t, err)
		require.NoError(t, q.Validate())
		require.Equal(t, int64(math.MaxInt64), q.Discount, "%d coupons", len(terms))
		require.Zero(t, q.Total)
	}
}
