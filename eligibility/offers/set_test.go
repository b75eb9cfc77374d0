package offers_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// trySets tries every set of at most most coupons.
func trySets(coupons []*coupon.Coupon, q offers.Query, most int) (best offers.Set) {
	usable := slices.DeleteFunc(slices.Clone(coupons), func(c *coupon.Coupon) bool {
		return c.State != coupon.Active || c.Distribution == coupon.PointsRedeemable && !slices.Contains(q.Held, c.ID)
	})
	slices.SortFunc(usable, func(a, b *coupon.Coupon) int { return cmp.Compare(a.ID, b.ID) })
	var try func(set []eligibility.Candidate, from int)
	try = func(set []eligibility.Candidate, from int) {
		if r, err := eligibility.EvaluateSet(set, q.Cart, q.Question); err == nil && r.Err() == nil && len(set) > 0 {
			// Sets come in the order of their IDs.
			if d := r.Quote.Discount; d > best.Discount || d == best.Discount && d > 0 && len(set) < len(best.Offers) {
				best = offers.Set{Discount: d}
				for i, c := range set {
					best.Offers = append(best.Offers, offers.Offer{Coupon: c.Coupon, Discount: r.Coupons[i].Discount})
				}
			}
		}
		if len(set) == most {
			return
		}
		for i := from; i < len(usable); i++ {
			c := eligibility.Candidate{Coupon: usable[i]}
			if q.Usage != nil {
				c.Usage = q.Usage(usable[i])
			}
			try(append(slices.Clip(set), c), i+1)
		}
	}
	try(nil, 0)
	return best
}

func checkSet(t require.TestingT, s *offers.Search, coupons []*coupon.Coupon, q offers.Query, most int) string {
	want := trySets(coupons, q, most)
	got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: most, MaxNodes: 1_000_000})
	require.NoError(t, err)
	require.True(t, got.Proved)
	require.True(t, got.Complete)
	require.Equal(t, got.Discount, got.Bound)
	require.Equal(t, want.Discount, got.Discount)
	return gocmp.Diff(words(want.Offers), words(got.Offers))
}

// A search finds the set that trying every set finds.
func TestTheBestSetOfSmallShops(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range *shops / 3 {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		coupons, q := smallShop(r, 8)
		if r.IntN(3) == 0 { // many equal totals
			for _, c := range coupons {
				c.Discount = coupons[0].Discount
			}
		}
		most := 1 + r.IntN(4)
		if diff := checkSet(t, &s, coupons, q, most); diff != "" {
			t.Fatalf("seed %d, up to %d coupons (-want +got):\n%s", seed, most, diff)
		}
	}
}

func TestTheBestSetIsTheBestOfAll(t *testing.T) {
	t.Parallel()
	var s offers.Search
	rapid.Check(t, func(t *rapid.T) {
		coupons, q := drawShop(t)
		if diff := checkSet(t, &s, coupons, q, rapid.IntRange(1, 3).Draw(t, "most")); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Coupons that exceed their budgets alone may fit them together, because they share the price of a unit.
func TestASetOfCouponsThatExceedTheirBudgetsAlone(t *testing.T) {
	t.Parallel()
	percent, err := pricing.ParsePercent("100")
	require.NoError(t, err)
	free, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Currency: pricing.EUR(), Percent: percent, Lane: pricing.ItemLane})
	require.NoError(t, err)
	var coupons []*coupon.Coupon
	for _, id := range []string{"a", "b"} {
		c := &coupon.Coupon{ID: coupon.IDPrefix + id, State: coupon.Active, Terms: coupon.Terms{
			Distribution: coupon.General, Currency: pricing.EUR(), Group: id, Discount: free, Scope: coupon.Scope{AppliesTo: coupon.All},
		}}
		c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(60, pricing.EUR()))
		coupons = append(coupons, c)
	}
	q := offers.Query{Question: eligibility.Question{At: noon, Customer: eligibility.Customer{ID: "u"}}, Cart: pricing.Cart{
		Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "i", Quantity: 1, UnitPrice: 100}},
	}}
	var s offers.Search
	require.Empty(t, checkSet(t, &s, coupons, q, 2))
	got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: 2})
	require.NoError(t, err)
	require.Equal(t, int64(100), got.Discount)
}

// A search that ran out of nodes has a bound that holds, and a set that the customer can use.
func TestASetThatIsNotProved(t *testing.T) {
	t.Parallel()
	var s offers.Search
	unproved := 0
	for seed := range testsize.Of(300, 1_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 6))
		coupons, q := smallShop(r, 8)
		want := trySets(coupons, q, 3)
		got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: 3, MaxNodes: 1 + r.IntN(8)})
		require.NoError(t, err)
		require.LessOrEqual(t, want.Discount, got.Bound, "seed %d", seed)
		require.LessOrEqual(t, got.Discount, want.Discount, "seed %d", seed)
		set := make([]eligibility.Candidate, len(got.Offers))
		for i, o := range got.Offers {
			set[i].Coupon = o.Coupon
		}
		of, err := eligibility.EvaluateSet(set, q.Cart, q.Question)
		require.NoError(t, err)
		require.NoError(t, of.Err(), "seed %d", seed)
		require.Equal(t, of.Quote.Discount, got.Discount)
		if got.Proved {
			require.Equal(t, want.Discount, got.Discount)
		}
		if got.Complete {
			require.True(t, got.Proved)
			require.Empty(t, gocmp.Diff(words(want.Offers), words(got.Offers)))
		} else {
			unproved++
		}
	}
	require.Positive(t, unproved)
}

// Bounds know that the order lane sees what the item lane has left, and coupons that differ only in their IDs
// are considered once. So in most carts the first of millions of equal sets is proved, and in all others the bound is
// near.
func TestTheBestSetOfManyIsProvedEarly(t *testing.T) {
	t.Parallel()
	var s offers.Search
	seeds, complete := testsize.Of(2, 20), 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		coupons := make([]*coupon.Coupon, 5_000)
		for i := range coupons {
			c := randomCoupon(r, fmt.Sprintf("%s%04d", coupon.IDPrefix, i))
			c.Conditions, c.Limits, c.Distribution, c.Scope = coupon.Conditions{}, coupon.Limits{}, coupon.General, coupon.Scope{AppliesTo: coupon.All}
			lane := pricing.ItemLane
			if i%5 > 0 {
				lane = pricing.OrderLane
			}
			var err error
			c.Discount, err = pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Percent: percentOf(fmt.Sprint(1 + r.IntN(30))), Lane: lane})
			require.NoError(t, err)
			c.Group = []string{"a", "b", "c"}[r.IntN(3)]
			if lane == pricing.ItemLane {
				c.Group = "item"
			}
			coupons[i] = c
		}
		_, q := smallShop(r, 0)
		q.Question.Customer = eligibility.Customer{ID: "u"}
		q.Cart.Step, q.Cart.Lines[0].UnitPrice = 0, 12_345
		got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: 4})
		require.NoError(t, err)
		require.Less(t, 10*(got.Bound-got.Discount), got.Discount)
		require.Len(t, got.Offers, 4)
		if got.Complete {
			complete++
		}
	}
	require.Greater(t, 10*complete, 9*seeds, "proved in %d of %d carts", complete, seeds)
}

// Bounds know that coupons for the same items share the price of these items. So the best set is proved although
// nearly all coupons are for the same items, and each takes much off alone.
func TestTheBestSetOfCouponsForTheSameItemsIsProved(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range testsize.Of(3, 30) {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		_, q := smallShop(r, 0)
		q.Question.Customer = eligibility.Customer{ID: "u"}
		q.Cart = pricing.Cart{Currency: pricing.EUR()}
		for i := range 30 {
			q.Cart.Lines = append(q.Cart.Lines, pricing.Line{
				ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprint("i", i), Quantity: 1 + r.Int64N(3), UnitPrice: 199 + r.Int64N(10_000),
			})
		}
		coupons := make([]*coupon.Coupon, 400)
		for i := range coupons {
			c := randomCoupon(r, fmt.Sprintf("%s%04d", coupon.IDPrefix, i))
			c.Conditions, c.Limits, c.Distribution, c.Group = coupon.Conditions{}, coupon.Limits{}, coupon.General, fmt.Sprint(r.IntN(20))
			c.Scope = coupon.Scope{AppliesTo: coupon.All}
			most := 15
			if r.IntN(10) > 0 {
				items := make([]string, 1+r.IntN(12))
				for i := range items {
					items[i] = fmt.Sprint("i", r.IntN(8))
				}
				c.Scope, most = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(items...)}, 70
			}
			var err error
			c.Discount, err = pricing.NewDiscount(pricing.DiscountTerms{
				Type: pricing.Percentage, Percent: percentOf(fmt.Sprint(1 + r.IntN(most))), Lane: pricing.ItemLane + pricing.Lane(r.IntN(2)),
			})
			require.NoError(t, err)
			coupons[i] = c
		}
		got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: 3})
		require.NoError(t, err)
		require.True(t, got.Complete, "seed %d: %d of %d after %d nodes", seed, got.Discount, got.Bound, got.Nodes)
	}
}

// A discount with tiers is a percentage or an amount in a certain cart. Coupons for different items that cover the same
// lines are tried once. So the best set is proved with few nodes in carts of all sizes.
func TestTheBestSetOfCartsOfMixedSizesIsProved(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range testsize.Of(8, 100) {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		coupons := make([]*coupon.Coupon, 2_000)
		for i := range coupons {
			c := randomCoupon(r, fmt.Sprintf("%s%04d", coupon.IDPrefix, i))
			c.Conditions, c.Limits, c.Distribution, c.Group = coupon.Conditions{}, coupon.Limits{}, coupon.General, fmt.Sprint(r.IntN(20))
			items := make([]string, 1+r.IntN(20))
			for i := range items {
				items[i] = fmt.Sprint("i", int(60*r.Float64()*r.Float64()*r.Float64()))
			}
			c.Scope, c.Buys = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(items...)}, coupon.Scope{}
			percent := percentOf(fmt.Sprint(1 + r.IntN(15)))
			terms := pricing.DiscountTerms{Type: pricing.Percentage, Percent: percent, Lane: pricing.ItemLane + pricing.Lane(i%2)}
			switch i % 4 {
			case 0:
				terms = pricing.DiscountTerms{Type: pricing.FixedAmount, Currency: pricing.EUR(), Amount: 50 * (1 + r.Int64N(40))}
			case 1:
				terms = pricing.DiscountTerms{Type: pricing.Tiered, Currency: pricing.EUR(), TierBasis: pricing.ByAmount, Tiers: []pricing.Tier{
					{From: 5_000, Percent: percent}, {From: 100_000, Amount: 20_000},
				}}
			}
			var err error
			c.Discount, err = pricing.NewDiscount(terms)
			require.NoError(t, err)
			coupons[i] = c
		}
		_, q := smallShop(r, 0)
		q.Question.Customer, q.Cart = eligibility.Customer{ID: "u"}, pricing.Cart{Currency: pricing.EUR()}
		for i := range 1 + r.IntN(50) {
			q.Cart.Lines = append(q.Cart.Lines, pricing.Line{
				ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprint("i", i), Quantity: 1 + r.Int64N(5), UnitPrice: 100 << r.IntN(8),
			})
		}
		got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: 3, MaxNodes: 400})
		require.NoError(t, err)
		require.True(t, got.Proved, "seed %d: %d of %d after %d nodes", seed, got.Discount, got.Bound, got.Nodes)
	}
}

func TestInvalidOptionsOfSets(t *testing.T) {
	t.Parallel()
	var s offers.Search
	_, q := smallShop(rand.New(rand.NewPCG(1, 1)), 0)
	for _, o := range []offers.SetOptions{{MaxCoupons: -1}, {MaxCoupons: 33}, {MaxCoupons: 1, MaxNodes: -1}} {
		_, err := s.Set(new(offers.Index), q, o)
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
	_, err := s.Set(new(offers.Index), offers.Query{}, offers.SetOptions{MaxCoupons: 1})
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// Options of 0 are the documented defaults.
func TestOptionsOfZero(t *testing.T) {
	t.Parallel()
	var zero, given offers.Search
	most := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		coupons, q := smallShop(r, 12)
		x := indexOf(t, coupons)
		got, err := zero.Set(x, q, offers.SetOptions{})
		require.NoError(t, err)
		want, err := given.Set(x, q, offers.SetOptions{MaxCoupons: offers.DefaultMaxCoupons, MaxNodes: offers.DefaultMaxNodes})
		require.NoError(t, err)
		require.Empty(t, gocmp.Diff(want, got), "seed %d", seed)
		most = max(most, len(got.Offers))
		near, err := zero.Nearly(x, q, offers.NearOptions{})
		require.NoError(t, err)
		all, err := given.Nearly(x, q, offers.NearOptions{Most: offers.MaxOffers})
		require.NoError(t, err)
		require.Empty(t, gocmp.Diff(all, near), "seed %d", seed)
	}
	require.Equal(t, offers.DefaultMaxCoupons, most)
}
