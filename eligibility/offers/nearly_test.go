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

// added returns the cart with a further unit of the first line of a scope at a price, or with further units of
// its cheapest line.
func added(scope coupon.Scope, cart pricing.Cart, amount, pieces int64) pricing.Cart {
	cart.Lines = slices.Clone(cart.Lines)
	var covered []int
	for i, l := range cart.Lines {
		if l.UnitPrice > 0 && scope.Covers(&l) {
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
			case coupon.RequiredItemsMissing: // after the minimums
				if n.Missing == 0 && n.Pieces == 0 && r.Params.ContainedQuantity > 0 && r.Params.Missing.Money.Minor() > 0 {
					n.Contained, n.Missing = true, r.Params.Missing.Money.Minor()
				}
			}
		}
		if (n.Missing > 0) == (n.Pieces > 0) {
			continue
		}
		if step := q.Cart.Step; step > 1 {
			n.Missing = (n.Missing + step - 1) / step * step
		}
		then, err := eligibility.Evaluate(c, added(addedTo(n, c), q.Cart, n.Missing, n.Pieces), q.Question)
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
	found, contained := 0, 0
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
				of, err := eligibility.Evaluate(n.Coupon, added(addedTo(n, n.Coupon), q.Cart, less, pieces), q.Question)
				require.NoError(t, err)
				reason := coupon.MinimumPurchaseNotMet
				switch {
				case n.Contained:
					reason = coupon.RequiredItemsMissing
				case n.Pieces > 0:
					reason = coupon.MinimumQuantityNotMet
				}
				require.True(t, of.Decision.Has(reason) || n.Pieces > 0 && of.Decision.Has(coupon.NoDiscount), "seed %d", seed)
			}
			if n.Contained {
				contained++
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
			buy, get := n.Coupon.Discount.UnitsPerApplication()
			if n.Coupon.Buys.IsZero() {
				get += buy
			}
			quantity = max(quantity, get)
			share := o.From.Of(1_000_000)
			if n.Contained {
				minimum, _ = n.Coupon.Conditions.Contains.MinPurchase.In(pricing.EUR())
			}
			has := goodsOf(addedTo(n, n.Coupon), q.Cart)
			reached := has.subtotal*1_000_000/share >= minimum
			if n.Pieces > 0 {
				reached = has.units*1_000_000/share >= quantity
			}
			combinable := len(o.Beside) == 0 || o.Beside[0].ID != n.Coupon.ID && pricing.Combinable(o.Beside[0].Group, n.Coupon.Group)
			shown := slices.ContainsFunc(some, func(m offers.Near) bool { return m.Coupon == n.Coupon })
			require.Equal(t, reached && combinable, shown, "seed %d: %s", seed, n.Coupon.ID)
		}
		for _, n := range some {
			has := goodsOf(addedTo(n, n.Coupon), q.Cart)
			value := has.subtotal
			if n.Pieces > 0 {
				value = has.units
			}
			require.GreaterOrEqual(t, value, n.ShownFrom)
		}
	}
	require.Greater(t, found, *shops/20)
	require.Greater(t, contained, *shops/100)
}

// addedTo returns the scope of what has to be added to get a coupon.
func addedTo(n offers.Near, c *coupon.Coupon) coupon.Scope {
	if n.Contained {
		return c.Conditions.Contains.Scope
	}
	return c.Scope
}

type goods struct{ subtotal, units int64 }

func goodsOf(scope coupon.Scope, cart pricing.Cart) (g goods) {
	for _, l := range cart.Lines {
		if l.UnitPrice > 0 && scope.Covers(&l) {
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

// "8.00 more, and 20 % off accessories": what is missing may be anything that the coupon requires, also in a line
// that it does not cover. The index finds such a coupon in every currency of the amount, and a cart without a
// required unit is not near.
func TestNearlyTheAmountOfRequiredUnits(t *testing.T) {
	t.Parallel()
	c := randomCoupon(rand.New(rand.NewPCG(1, 1)), "cpn_accessories")
	c.Terms = coupon.Terms{Currency: pricing.EUR(), Distribution: coupon.General, Discount: pricing.PercentOff(percentOf("20"))}
	c.Scope = coupon.Scope{AppliesTo: coupon.All, Kinds: coupon.NewItems("accessory")}
	c.Conditions.Contains = coupon.Contents{
		Scope: coupon.Scope{AppliesTo: coupon.All}, Quantity: 1,
		MinPurchase: coupon.NewMoneySet(pricing.NewMoney(100_00, pricing.EUR()), pricing.NewMoney(110_00, pricing.USD())),
	}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 82_00},
		{Kind: pricing.Accessory, ItemID: "case", Quantity: 1, UnitPrice: 10_00},
	}}
	var s offers.Search
	nearly := func(minor int64, in pricing.Currency) []offers.Near {
		cart.Currency, cart.Lines[0].UnitPrice = in, minor
		near, err := s.Nearly(indexOf(t, []*coupon.Coupon{c}), offers.Query{Cart: cart, Question: eligibility.Question{
			At: noon, Customer: eligibility.Customer{ID: "u"},
		}}, offers.NearOptions{Most: 1, From: percentOf("80")})
		require.NoError(t, err)
		return slices.Clone(near)
	}
	require.Equal(t, []offers.Near{{Coupon: c, Missing: 8_00, Contained: true, Discount: 2_00, ShownFrom: 80_00}}, nearly(82_00, pricing.EUR()))
	require.Equal(t, []offers.Near{{Coupon: c, Missing: 18_00, Contained: true, Discount: 2_00, ShownFrom: 88_00}}, nearly(82_00, pricing.USD()))
	require.Empty(t, nearly(90_00, pricing.EUR()), "the coupon can be used")
	require.Empty(t, nearly(69_99, pricing.EUR()), "less than 80 %")
	require.Len(t, nearly(70_00, pricing.EUR()), 1)
	require.Empty(t, nearly(82_00, pricing.GBP()))
	c.Conditions.Contains.Scope.Kinds = coupon.NewItems("book")
	require.Empty(t, nearly(82_00, pricing.EUR()), "no book is in the cart")
}
