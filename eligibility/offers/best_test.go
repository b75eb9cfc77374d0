package offers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// A search finds what trying every coupon finds.
func TestBestIsTheBestOfAll(t *testing.T) {
	t.Parallel()
	var s offers.Search
	rapid.Check(t, func(t *rapid.T) {
		coupons, q := drawShop(t)
		x := indexOf(t, coupons)
		want := tryAll(coupons, q)
		for _, n := range []int{1, 3, offers.MaxOffers} {
			got, err := s.Top(x, q, n)
			require.NoError(t, err)
			if diff := cmp.Diff(words(want[:min(n, len(want))]), words(got)); diff != "" {
				t.Fatalf("the best %d (-want +got):\n%s", n, diff)
			}
		}
	})
}

// The same holds for many small shops in which most coupons apply.
func TestBestOfSmallShops(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range *shops {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		coupons, q := smallShop(r, 12)
		want := tryAll(coupons, q)
		n := 1 + r.IntN(4)
		got, err := s.Top(indexOf(t, coupons), q, n)
		require.NoError(t, err)
		if diff := cmp.Diff(words(want[:min(n, len(want))]), words(got)); diff != "" {
			t.Fatalf("seed %d: the best %d (-want +got):\n%s", seed, n, diff)
		}
	}
}

// A search that is repeated allocates no memory.
func TestRepeatedSearchesAllocateNothing(t *testing.T) {
	var s offers.Search
	r := rand.New(rand.NewPCG(1, 9))
	var coupons []*coupon.Coupon
	for i := range 2_000 {
		c := randomCoupon(r, fmt.Sprintf("%s%04d", coupon.IDPrefix, i))
		c.Conditions, c.Limits = coupon.Conditions{}, coupon.Limits{}
		coupons = append(coupons, c)
	}
	x := indexOf(t, coupons)
	_, q := smallShop(r, 0)
	q.Cart.Step = 0
	allocations := testing.AllocsPerRun(100, func() {
		if _, found, err := s.Best(x, q); err != nil || !found {
			t.Error("no coupon is found", err)
		}
	})
	require.Zero(t, allocations)
}

// A nil Search has nowhere to search.
func TestANilSearchIsAnError(t *testing.T) {
	t.Parallel()
	var s *offers.Search
	q := offers.Query{}
	q.Cart.Currency = pricing.EUR()
	for name, search := range map[string]func() error{
		"Best":   func() error { _, _, err := s.Best(nil, q); return err },
		"Top":    func() error { _, err := s.Top(nil, q, 1); return err },
		"Set":    func() error { _, err := s.Set(nil, q, offers.SetOptions{}); return err },
		"Nearly": func() error { _, err := s.Nearly(nil, q, offers.NearOptions{Most: 1}); return err },
		"Choose": func() error { _, err := s.Choose(nil, q, offers.ChoiceOptions{}); return err },
	} {
		require.ErrorIs(t, search(), validation.ErrInvalid, name)
	}
}

// A set has only coupons that Top returns, unless there are more than n or one exceeds its budget alone.
func TestMoreInSets(t *testing.T) {
	t.Parallel()
	var s offers.Search
	require.False(t, s.MoreInSets())
	more := 0
	for seed := range *shops {
		r := rand.New(rand.NewPCG(uint64(seed), 10))
		coupons, q := smallShop(r, 6)
		x, n := indexOf(t, coupons), 1+r.IntN(4)
		top, err := s.Top(x, q, n)
		require.NoError(t, err)
		known := words(top)
		if s.MoreInSets() {
			more++
			continue
		}
		require.Less(t, len(known), n)
		set, err := s.Set(x, q, offers.SetOptions{MaxCoupons: 4})
		require.NoError(t, err)
		for _, o := range set.Offers {
			require.Contains(t, known, fmt.Sprint(o.Coupon.ID, " ", aloneOf(coupons, q, o.Coupon)), "seed %d", seed)
		}
	}
	require.Positive(t, more)
	require.Less(t, more, *shops)
}

// aloneOf is what a coupon takes off alone.
func aloneOf(coupons []*coupon.Coupon, q offers.Query, c *coupon.Coupon) int64 {
	for _, o := range tryAll(coupons, q) {
		if o.Coupon == c {
			return o.Discount
		}
	}
	return 0
}
