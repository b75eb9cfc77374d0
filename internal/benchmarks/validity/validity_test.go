package validity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/internal/benchmarks/validity"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// situations draws coupons, carts and questions, about as many of them allowed as
// not: few are by themselves, so that a third is sought among those.
func situations() *rapid.Generator[validity.Situation] {
	allowed := anySituation().Filter(func(s validity.Situation) bool {
		d, err := validity.Ways()[0].Prepare(s)
		if err != nil {
			return true // which the test tells
		}
		yes, err := d.Allowed()
		return yes || err != nil
	})
	return rapid.OneOf(anySituation(), anySituation(), allowed)
}

// anySituation has counts and prices within what the engines can add up.
func anySituation() *rapid.Generator[validity.Situation] {
	return rapid.Custom(func(t *rapid.T) validity.Situation {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 12, MaxTotal: 1_000_000_000}).Draw(t, "cart")
		s := validity.Situation{Coupon: coupontest.SimpleFor(cart).Draw(t, "coupon")}
		// The others have the rules of the specification only.
		own := s.Coupon.Conditions.MinPurchase
		s.Coupon.Conditions = coupon.Conditions{}
		if minor, has := own.In(s.Coupon.Currency); has {
			s.Coupon.Conditions.MinPurchase = coupon.NewMoneySet(pricing.NewMoney(minor, s.Coupon.Currency))
		}
		s.Coupon.Limits.Budget, s.Coupon.Limits.Periods = coupon.MoneySet{}, nil
		s.Coupon.Scope = specified(s.Coupon.Scope)
		if rapid.IntRange(0, 9).Draw(t, "off") == 0 {
			s.Coupon.State = coupon.Inactive
		}
		s.Question = coupontest.Question(s.Coupon).Draw(t, "question")
		if rapid.IntRange(0, 3).Draw(t, "without a cart") > 0 {
			s.Cart = &cart
		}
		return s
	})
}

// specified is the scope with the terms of the specification only.
func specified(s coupon.Scope) coupon.Scope {
	s = coupon.Scope{AppliesTo: s.AppliesTo, Plans: s.Plans, Devices: s.Devices, Accessories: s.Accessories}
	if s.AppliesTo == coupon.Specific && s.Plans.Len()+s.Devices.Len()+s.Accessories.Len() == 0 {
		s.AppliesTo = coupon.All
	}
	return s
}

func decided(t require.TestingT, w validity.Way, s validity.Situation) bool {
	d, err := w.Prepare(s)
	require.NoError(t, err, w.Name)
	allowed, err := d.Allowed()
	require.NoError(t, err, w.Name)
	again, err := d.Allowed() // as the benchmark does: over and over
	require.NoError(t, err, w.Name)
	require.Equal(t, allowed, again, w.Name)
	return allowed
}

func TestAllWaysGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	answers, drawn := make(map[bool]int), situations()
	for seed := range 100 { // the same situations in each run
		answers[decided(t, validity.Ways()[0], drawn.Example(seed))]++
	}
	if min(answers[true], answers[false]) < 20 {
		t.Errorf("the answers are too much alike to show anything: %v", answers)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawn.Draw(t, "situation")
		want := decided(t, validity.Ways()[0], s)
		for _, w := range validity.Ways()[1:] {
			if got := decided(t, w, s); got != want {
				t.Errorf("%s: allowed %t, couponkit says %t", w.Name, got, want)
			}
		}
	})
}

// The measured situations are what the benchmarks say that they are.
func TestTheMeasuredSituations(t *testing.T) {
	t.Parallel()
	for _, m := range measured(t, listSizes[:3]) {
		for _, w := range validity.Ways() {
			d, err := w.Prepare(m.situation)
			require.NoError(t, err)
			allowed, err := d.Allowed()
			require.NoError(t, err)
			require.Equal(t, m.allowed, allowed, "%s: %s", m.name, w.Name)
		}
	}
}

// The goal of the repository for its own way. A refusal allocates its reasons: the measured one has
// up to 5 allocations.
func TestDecidingAllocatesNothing(t *testing.T) {
	for _, m := range measured(t, listSizes) {
		most := 0.0
		if !m.allowed {
			most = 5
		}
		d, err := validity.Ways()[0].Prepare(m.situation)
		require.NoError(t, err)
		_, err = d.Allowed()
		require.NoError(t, err)
		if n := testing.AllocsPerRun(100, func() { _, _ = d.Allowed() }); n > most {
			t.Errorf("%s: %v allocations", m.name, n)
		}
	}
}
