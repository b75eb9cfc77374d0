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

// tryBeside tries every set of coupons beside others. It returns false if the others cannot be used together.
func tryBeside(coupons, beside []*coupon.Coupon, q offers.Query, most int, accept func(*pricing.Quote) bool) (best offers.Set, ok bool) {
	var base []eligibility.Candidate
	for _, c := range beside {
		base = append(base, eligibility.Candidate{Coupon: c, Usage: q.Usage(c)})
	}
	r, err := eligibility.EvaluateSet(base, q.Cart, q.Question)
	if err != nil || r.Err() != nil {
		return best, false
	}
	best.Discount = r.Quote.Discount
	coupons = slices.Clone(coupons)
	slices.SortFunc(coupons, func(a, b *coupon.Coupon) int { return cmp.Compare(a.ID, b.ID) })
	var try func(set []*coupon.Coupon, from int)
	try = func(set []*coupon.Coupon, from int) {
		all := slices.Clone(base)
		for _, c := range set {
			all = append(all, eligibility.Candidate{Coupon: c, Usage: q.Usage(c)})
		}
		r, err := eligibility.EvaluateSet(all, q.Cart, q.Question)
		d := r.Quote.Discount
		if err == nil && r.Err() == nil && accept(&r.Quote) && (d > best.Discount || d == best.Discount && len(set) < len(best.Offers)) {
			best = offers.Set{Discount: d}
			for i := range r.Coupons {
				if at := slices.IndexFunc(set, func(c *coupon.Coupon) bool { return c.ID == r.Coupons[i].CouponID }); at >= 0 {
					best.Offers = append(best.Offers, offers.Offer{Coupon: set[at], Discount: r.Coupons[i].Discount})
				}
			}
		}
		for i := from; i < len(coupons) && len(set) < most; i++ {
			try(append(slices.Clip(set), coupons[i]), i+1)
		}
	}
	try(nil, 0)
	return best, true
}

// A choice beside other coupons is what trying every set finds, also if some prices are not accepted.
func TestTheBestChoiceOfSmallShops(t *testing.T) {
	t.Parallel()
	var s offers.Search
	together := 0
	for seed := range *shops / 4 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		coupons, q := smallShop(r, 8)
		if q.Usage == nil {
			q.Usage = func(*coupon.Coupon) eligibility.Usage { return eligibility.Usage{} }
		}
		usage := q.Usage
		q.Usage = func(c *coupon.Coupon) eligibility.Usage {
			u := usage(c)
			u.CustomerHoldsReservation = slices.Contains(q.Held, c.ID)
			return u
		}
		n := min(r.IntN(3), len(coupons))
		beside, rest := coupons[:n], coupons[n:]
		least := r.Int64N(2_000)
		accept := func(quote *pricing.Quote) bool { return quote.Total == 0 || quote.Total > least }
		most := 1 + r.IntN(4)
		want, ok := tryBeside(rest, beside, q, most, accept)
		got, err := s.Choose(rest, q, offers.ChoiceOptions{SetOptions: offers.SetOptions{MaxCoupons: most, Beside: beside}, Accept: accept})
		if !ok {
			require.ErrorIs(t, err, validation.ErrInvalid, "seed %d", seed)
			continue
		}
		require.NoError(t, err)
		require.True(t, got.Proved && got.Complete)
		require.Equal(t, want.Discount, got.Discount, "seed %d", seed)
		if diff := gocmp.Diff(words(want.Offers), words(got.Offers)); diff != "" {
			t.Fatalf("seed %d, %d beside %d (-want +got):\n%s", seed, len(rest), n, diff)
		}
		if n > 0 && len(got.Offers) > 0 {
			together++
		}
	}
	require.Positive(t, together)
}

// A search beside other coupons, and without some of the index, is what trying every set finds.
func TestTheBestSetBesideOthers(t *testing.T) {
	t.Parallel()
	var s offers.Search
	together := 0
	for seed := range *shops / 4 {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		coupons, q := smallShop(r, 8)
		q.Usage = func(c *coupon.Coupon) eligibility.Usage { return eligibility.Usage{} }
		n := min(r.IntN(3), len(coupons))
		beside, rest := coupons[:n], coupons[n:]
		q.Except = func(c *coupon.Coupon) bool { return c.ID[len(c.ID)-1] == '3' || slices.Contains(beside, c) }
		rest = slices.DeleteFunc(slices.Clone(rest), q.Except)
		most := 1 + r.IntN(4)
		want, ok := tryBeside(rest, beside, q, most, func(*pricing.Quote) bool { return true })
		got, err := s.Set(indexOf(t, coupons), q, offers.SetOptions{MaxCoupons: most, Beside: beside})
		if !ok {
			require.ErrorIs(t, err, validation.ErrInvalid, "seed %d", seed)
			continue
		}
		require.NoError(t, err)
		require.True(t, got.Proved && got.Complete)
		if diff := gocmp.Diff(words(want.Offers), words(got.Offers)); diff != "" || got.Discount != want.Discount {
			t.Fatalf("seed %d, %d beside %d (-want +got):\n%s", seed, len(rest), n, diff)
		}
		if n > 0 && len(got.Offers) > 0 {
			together++
		}
	}
	require.Positive(t, together)
}
