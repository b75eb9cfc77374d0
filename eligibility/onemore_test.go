package eligibility_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Contract section 2, several coupons 5: one more unit lowers the total of the same codes by more
// than its own price only with BUY_X_GET_Y, a tier, a budget or a condition on the cart. Each of them does.
func TestOneMoreUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkOneMoreUnit(t) })
	plain, drawn := 0, rapid.Custom(checkOneMoreUnit)
	for seed := range 100 { // the same in every run
		if drawn.Example(seed) {
			plain++
		}
	}
	require.Positive(t, plain, "no set without one of these terms had a coupon that applies")
}

// checkOneMoreUnit draws a set and a cart. It reports whether a coupon applies and the set has none of these
// terms.
func checkOneMoreUnit(t *rapid.T) (plain bool) {
	set, cart, q := drawSet(t)
	if len(cart.Lines) == 0 {
		return false
	}
	if rapid.Bool().Draw(t, "without these terms") {
		q.AllowAnonymous = true
		for i := range set {
			withoutJumps(&set[i], fmt.Sprint(i))
		}
	}
	before, after, price := withOneMore(t, set, cart, q)
	if before == nil || slices.ContainsFunc(set, mayJump) {
		return false
	}
	if after.Quote.Total < before.Quote.Total-price {
		t.Errorf("%d with, %d without a unit of %d: %q and %q", after.Quote.Total, before.Quote.Total, price, outcomes(after.Coupons), outcomes(before.Coupons))
	}
	return len(before.Quote.Coupons) > 0
}

// withOneMore decides about a set without and with one more unit of a drawn line. It returns nil if
// the larger cart is invalid.
func withOneMore(t *rapid.T, set []eligibility.Candidate, cart pricing.Cart, q eligibility.Question) (before, after *eligibility.SetResult, price int64) {
	i := rapid.IntRange(0, len(cart.Lines)-1).Draw(t, "line")
	larger := cart
	larger.Lines = slices.Clone(cart.Lines)
	if l := larger.Lines[i]; rapid.Bool().Draw(t, "a line of its own") {
		l.ID, l.Quantity = "another", 1
		larger.Lines = append(larger.Lines, l)
	} else {
		larger.Lines[i].Quantity++
	}
	if larger.Validate() != nil {
		return nil, nil, 0
	}
	first, err := eligibility.EvaluateSet(set, cart, q)
	if err != nil {
		t.Fatal(err)
	}
	second, err := eligibility.EvaluateSet(set, larger, q)
	if err != nil {
		t.Fatal(err)
	}
	return &first, &second, cart.Lines[i].UnitPrice
}

// withoutJumps takes away the terms that may lower the total, and whatever else may refuse the
// coupon.
func withoutJumps(c *eligibility.Candidate, group string) {
	*c = eligibility.Candidate{Coupon: unconditional(c.Coupon)}
	c.Coupon.Group = group
	if mayJump(*c) {
		percentInItemLane("50")(c)
		c.Coupon.Buys = coupon.Scope{}
	}
}

// mayJump reports whether a coupon has a term that depends on how much there is in the cart.
func mayJump(c eligibility.Candidate) bool {
	kind := c.Coupon.Discount.Type()
	k := &c.Coupon.Conditions
	return kind == pricing.Tiered || kind == pricing.BuyXGetY || !c.Coupon.Limits.Budget.IsZero() ||
		!k.MinPurchase.IsZero() || !k.MaxPurchase.IsZero() || k.MinQuantity > 0 || k.MaxQuantity > 0 || !k.Contains.IsZero()
}

// Each exception, by itself: phones for 25.00 each, and one more.
func TestOneMoreUnitThatLowersTheTotal(t *testing.T) {
	t.Parallel()
	of := func(percent string, change func(*coupon.Coupon)) func(*eligibility.Candidate) {
		return func(c *eligibility.Candidate) {
			percentInItemLane(percent)(c)
			c.Coupon.Conditions.MinPurchase = least(0)
			change(c.Coupon)
		}
	}
	same := func(*coupon.Coupon) {}
	for name, c := range map[string]struct {
		phones int64
		set    []eligibility.Candidate
		want   int64 // by which the total falls, more than 25.00
	}{
		"a minimum purchase": {2, []eligibility.Candidate{member("A", "", of("100", func(c *coupon.Coupon) { c.Conditions.MinPurchase = least(7500) }))}, 5000},
		"a minimum quantity": {2, []eligibility.Candidate{member("A", "", of("100", func(c *coupon.Coupon) { c.Conditions.MinQuantity = 3 }))}, 5000},
		"what it contains": {2, []eligibility.Candidate{member("A", "", of("100", func(c *coupon.Coupon) {
			c.Conditions.Contains = coupon.Contents{Scope: coupon.Scope{AppliesTo: coupon.All, Kinds: coupon.NewItems("device")}, Quantity: 4}
		}))}, 5000},
		"a maximum, of a coupon that excluded another before": {2, []eligibility.Candidate{
			member("A", "", of("50", func(c *coupon.Coupon) { c.Conditions.MaxQuantity = 2 })), member("B", "", of("100", same)),
		}, 5000},
		"a tier":      {2, []eligibility.Candidate{member("A", "", of("1", func(c *coupon.Coupon) { c.Discount = tierOf(t, 3, 7500) }))}, 5000},
		"buy and get": {5, []eligibility.Candidate{member("A", "", of("1", func(c *coupon.Coupon) { c.Discount = buyOneGetFive(t) }))}, 10000},
		"a budget, of a coupon that excluded another before": {2, []eligibility.Candidate{
			member("A", "", of("50", func(c *coupon.Coupon) { c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(3000, pricing.EUR())) })),
			member("B", "", of("100", same)),
		}, 5000},
		"none of them": {2, []eligibility.Candidate{member("A", "", of("100", same))}, 0},
	} {
		s := sound()
		s.cart.Lines = slices.Clone(s.cart.Lines)
		s.cart.Lines[0].Quantity = c.phones
		before, err := eligibility.EvaluateSet(c.set, s.cart, s.question)
		require.NoError(t, err)
		s.cart.Lines[0].Quantity++
		after, err := eligibility.EvaluateSet(c.set, s.cart, s.question)
		require.NoError(t, err)
		if fell := before.Quote.Total - after.Quote.Total; fell != c.want {
			t.Errorf("%s: the total falls by %d, want %d: %q, then %q", name, fell, c.want, outcomes(before.Coupons), outcomes(after.Coupons))
		}
	}
}

// tierOf is an amount off from a number of units.
func tierOf(tb testing.TB, from, amount int64) pricing.Discount {
	tb.Helper()
	d, err := pricing.NewDiscount(pricing.DiscountTerms{
		Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Currency: pricing.EUR(), Tiers: []pricing.Tier{{From: from, Amount: amount}},
	})
	require.NoError(tb, err)
	return d
}

func buyOneGetFive(tb testing.TB) pricing.Discount {
	tb.Helper()
	free, err := pricing.ParsePercent("100")
	require.NoError(tb, err)
	d, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: free, BuyQuantity: 1, GetQuantity: 5})
	require.NoError(tb, err)
	return d
}
