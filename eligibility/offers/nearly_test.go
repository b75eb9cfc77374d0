package offers_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// added returns the cart with a further unit of the first covered line at a price, or with further units of
// the cheapest covered line.
func added(c *coupon.Coupon, cart pricing.Cart, amount, pieces int64) pricing.Cart {
	cart.Lines = slices.Clone(cart.Lines)
	var covered []int
	for i, l := range cart.Lines {
		if l.UnitPrice > 0 && c.Scope.Covers(&l) {
			covered = append(covered, i)
		}
	}
	if pieces > 0 {
		cheapest := slices.MinFunc(covered, func(i, j int) int { return cmp.Compare(cart.Lines[i].UnitPrice, cart.Lines[j].UnitPrice) })
		cart.Lines[cheapest].Quantity += pieces
		return cart
	}
	l := cart.Lines[covered[0]]
	l.Quantity, l.UnitPrice = 1, amount
	cart.Lines = append(cart.Lines, l)
	return cart
}

// tryNear is what Nearly must find, by the reasons of every coupon.
func tryNear(t *testing.T, coupons []*coupon.Coupon, q offers.Query, o offers.NearOptions) (all []offers.Near) {
	t.Helper()
	for _, c := range coupons {
		d, err := eligibility.Evaluate(c, q.Cart, q.Question)
		var n offers.Near
		if err != nil || d.Decision.Allowed() || d.Quote.EligibleSubtotal == 0 {
			continue
		}
		for _, r := range d.Decision.Reasons() {
			switch r.Code { //nolint:exhaustive // no other reason has an addition
			case coupon.MinimumPurchaseNotMet:
				n.Missing = r.Params.Missing.Money.Minor()
			case coupon.MinimumQuantityNotMet:
				n.Pieces = r.Params.MissingQuantity
			}
		}
		if (n.Missing > 0) == (n.Pieces > 0) {
			continue
		}
		if step := q.Cart.Step; step > 1 {
			n.Missing = (n.Missing + step - 1) / step * step
		}
		then, err := eligibility.Evaluate(c, added(c, q.Cart, n.Missing, n.Pieces), q.Question)
		if err == nil && then.Decision.Allowed() {
			n.Coupon, n.Discount = c, then.Quote.Discount
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b offers.Near) int {
		return cmp.Or(cmp.Compare(b.Discount, a.Discount), cmp.Compare(a.Coupon.ID, b.Coupon.ID))
	})
	return all
}

// Nearly finds exactly the coupons that an addition makes usable. A cent or a piece less does not.
func TestNearlyIsExact(t *testing.T) {
	t.Parallel()
	var s offers.Search
	found := 0
	for seed := range *shops / 2 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		coupons, q := smallShop(r, 10)
		o := offers.NearOptions{Most: offers.MaxOffers}
		x := indexOf(t, coupons)
		got, err := s.Nearly(x, q, o)
		require.NoError(t, err)
		want := tryNear(t, coupons, q, o)
		if diff := gocmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		for _, n := range got {
			found++
			less, pieces := n.Missing-max(q.Cart.Step, 1), n.Pieces-1
			if less > 0 || pieces > 0 {
				of, err := eligibility.Evaluate(n.Coupon, added(n.Coupon, q.Cart, less, pieces), q.Question)
				require.NoError(t, err)
				require.True(t, of.Decision.Has(coupon.MinimumPurchaseNotMet) || of.Decision.Has(coupon.MinimumQuantityNotMet), "seed %d", seed)
			}
		}
		// Only coupons that are close enough, and can be used beside the others, are shown.
		o.From = [...]pricing.Percent{percentOf("50"), percentOf("33.3333"), percentOf("100")}[r.IntN(3)]
		if len(coupons) > 0 {
			o.Beside = coupons[:1]
		}
		whole := slices.Clone(got)
		some, err := s.Nearly(x, q, o)
		require.NoError(t, err)
		for _, n := range whole {
			minimum, _ := n.Coupon.Minimum(pricing.EUR())
			if basis, from := n.Coupon.Discount.FirstTier(); basis == pricing.ByAmount {
				minimum = max(minimum, from)
			}
			quantity := n.Coupon.Conditions.MinQuantity
			if basis, from := n.Coupon.Discount.FirstTier(); basis == pricing.ByQuantity {
				quantity = max(quantity, from)
			}
			share := o.From.Of(1_000_000)
			has := eligible(n.Coupon, q.Cart)
			reached := has.subtotal*1_000_000/share >= minimum
			if n.Pieces > 0 {
				reached = has.units*1_000_000/share >= quantity
			}
			combinable := len(o.Beside) == 0 || o.Beside[0].ID != n.Coupon.ID && pricing.Combinable(o.Beside[0].Group, n.Coupon.Group)
			shown := slices.ContainsFunc(some, func(m offers.Near) bool { return m.Coupon == n.Coupon })
			require.Equal(t, reached && combinable, shown, "seed %d: %s", seed, n.Coupon.ID)
		}
		for _, n := range some {
			has := eligible(n.Coupon, q.Cart)
			value := has.subtotal
			if n.Pieces > 0 {
				value = has.units
			}
			require.GreaterOrEqual(t, value, n.ShownFrom)
		}
	}
	require.Greater(t, found, *shops/20)
}

type goods struct{ subtotal, units int64 }

func eligible(c *coupon.Coupon, cart pricing.Cart) (g goods) {
	for _, l := range cart.Lines {
		if l.UnitPrice > 0 && c.Scope.Covers(&l) {
			g.subtotal += l.UnitPrice * l.Quantity
			g.units += l.Quantity
		}
	}
	return g
}

func percentOf(text string) pricing.Percent {
	p, err := pricing.ParsePercent(text)
	if err != nil {
		panic(err)
	}
	return p
}

func TestInvalidOptionsOfNearly(t *testing.T) {
	t.Parallel()
	var s offers.Search
	_, q := smallShop(rand.New(rand.NewPCG(1, 1)), 0)
	for _, most := range []int{-1, offers.MaxOffers + 1} {
		_, err := s.Nearly(new(offers.Index), q, offers.NearOptions{Most: most})
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
	_, err := s.Nearly(new(offers.Index), offers.Query{}, offers.NearOptions{Most: 1})
	require.ErrorIs(t, err, validation.ErrInvalid)
}
