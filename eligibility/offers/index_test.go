package offers_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// An index after any changes finds what a new index of the same coupons finds. The indexes before the
// changes stay as they were.
func TestChangesGiveTheIndexOfTheCoupons(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range testsize.Of(30, 100) {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		kept := map[string]*coupon.Coupon{}
		x := new(offers.Index)
		type version struct {
			index *offers.Index
			query offers.Query
			want  []string
		}
		var versions []version
		for range 300 {
			id := fmt.Sprintf("%s%03d", coupon.IDPrefix, r.IntN(120))
			c := randomCoupon(r, id)
			if before := kept[id]; before != nil && r.IntN(2) == 0 { // a small change
				same := *before
				c = &same
				c.Name = fmt.Sprint(r.IntN(9))
				c.Conditions.MinQuantity = r.Int64N(3)
			}
			switch r.IntN(5) {
			case 0:
				x = x.Without(id, "cpn_unknown")
				delete(kept, id)
			case 1:
				c.State = coupon.Inactive
				delete(kept, id)
				fallthrough
			default:
				var err error
				x, err = x.With(c)
				require.NoError(t, err)
				if c.State == coupon.Active {
					kept[id] = c
				}
			}
			if r.IntN(40) == 0 {
				_, q := smallShop(r, 0)
				versions = append(versions, version{x, q, words(tryAll(slices.Collect(maps.Values(kept)), q))})
			}
		}
		_, _, err := x.Entries()
		require.NoError(t, err)
		require.Equal(t, len(kept), x.Len())
		for id, c := range kept {
			require.Same(t, c, x.Get(id))
		}
		for _, v := range versions {
			got, err := s.Top(v.index, v.query, offers.MaxOffers)
			require.NoError(t, err)
			if diff := cmp.Diff(v.want, words(got)); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
		require.Zero(t, x.Without(slices.Collect(maps.Keys(kept))...).Len())
	}
}

// A large index stays right while lists of thousands of entries grow and shrink.
func TestLongListsGrowAndShrink(t *testing.T) {
	t.Parallel()
	var s offers.Search
	r := rand.New(rand.NewPCG(1, 3))
	kept := map[string]*coupon.Coupon{}
	x := new(offers.Index)
	most := testsize.Of(2_000, 4_000)
	for _, grow := range []bool{true, false, true, false} {
		for range most {
			id := fmt.Sprintf("%s%06d", coupon.IDPrefix, r.IntN(most))
			if grow || r.IntN(20) == 0 {
				c := randomCoupon(r, id)
				var err error
				x, err = x.With(c)
				require.NoError(t, err)
				kept[id] = c
			} else {
				x = x.Without(id)
				delete(kept, id)
			}
		}
		all := slices.Collect(maps.Values(kept))
		for range 5 {
			_, q := smallShop(r, 0)
			got, err := s.Top(x, q, offers.MaxOffers)
			require.NoError(t, err)
			want := words(tryAll(all, q))
			if diff := cmp.Diff(want[:min(len(want), offers.MaxOffers)], words(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			got, err = s.Top(indexOf(t, all), q, 10)
			require.NoError(t, err)
			require.Equal(t, want[:min(len(want), 10)], words(got))
		}
	}
}

// Entries of replaced and removed coupons leave the lists in the end, as do targets without coupons.
// Each list always has the entries of its coupons.
func TestRemovedCouponsLeaveTheLists(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	var all []*coupon.Coupon
	for i := range 200 {
		all = append(all, randomCoupon(r, fmt.Sprintf("%s%03d", coupon.IDPrefix, i)))
	}
	x := indexOf(t, all)
	for i := range testsize.Of(2_000, 20_000) {
		id := all[r.IntN(len(all))].ID
		if r.IntN(3) == 0 {
			x = x.Without(id)
		} else {
			var err error
			x, err = x.With(randomCoupon(r, id))
			require.NoError(t, err)
		}
		if i%100 > 0 {
			continue
		}
		entries, live, err := x.Entries()
		require.NoError(t, err)
		require.LessOrEqual(t, entries, live*3/2)
	}
	require.Less(t, x.Slots(), 2*len(all), "removed coupons give their slots away")
	for _, c := range all {
		x = x.Without(c.ID)
	}
	entries, live, err := x.Entries()
	require.NoError(t, err)
	require.Zero(t, live)
	require.Zero(t, entries)
}

// Readers go on while a writer changes coupons. Each search sees the coupons of one index: in every index
// here, exactly one of two coupons is worth 10 %.
func TestReadersDuringUpdates(t *testing.T) {
	t.Parallel()
	percent := func(id string, p string) *coupon.Coupon {
		c := randomCoupon(rand.New(rand.NewPCG(1, 1)), id)
		of, err := pricing.ParsePercent(p)
		require.NoError(t, err)
		return &coupon.Coupon{ID: id, State: coupon.Active, Terms: coupon.Terms{
			Currency: c.Currency, Distribution: coupon.General, Scope: coupon.Scope{AppliesTo: coupon.All}, Discount: pricing.PercentOff(of),
		}}
	}
	_, q := smallShop(rand.New(rand.NewPCG(1, 1)), 0)
	q.Cart = pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "i", Quantity: 1, UnitPrice: 1000}}}
	var current atomic.Pointer[offers.Index]
	current.Store(indexOf(t, []*coupon.Coupon{percent("cpn_a", "10"), percent("cpn_b", "5")}))
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var s offers.Search
			for !done.Load() {
				got, err := s.Top(current.Load(), q, 2)
				if err != nil || len(got) != 2 || got[0].Discount != 100 || got[1].Discount != 50 {
					t.Errorf("a search sees %v, %v", words(got), err)
					return
				}
			}
		})
	}
	for i := range testsize.Of(1_000, 4_000) {
		next, err := current.Load().With(percent("cpn_a", []string{"5", "10"}[i%2]), percent("cpn_b", []string{"10", "5"}[i%2]))
		require.NoError(t, err)
		current.Store(next)
	}
	done.Store(true)
	readers.Wait()
}

// Of several coupons with one ID the last counts, whatever their states and currencies.
func TestTheLastCouponOfAnIDCounts(t *testing.T) {
	t.Parallel()
	var s offers.Search
	for seed := range 500 {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		var all []*coupon.Coupon
		last := map[string]*coupon.Coupon{}
		for range 12 {
			c := randomCoupon(r, fmt.Sprint(coupon.IDPrefix, r.IntN(5)))
			if r.IntN(4) == 0 {
				c.State = coupon.Inactive
			}
			all, last[c.ID] = append(all, c), c
		}
		_, q := smallShop(r, 0)
		got, err := s.Top(indexOf(t, all), q, 10)
		require.NoError(t, err)
		require.Equal(t, words(tryAll(slices.Collect(maps.Values(last)), q)), words(got))
	}
}

// Input that an index cannot hold is refused, and the index stays as it was.
func TestInvalidInputOfAnIndex(t *testing.T) {
	t.Parallel()
	sound := func() *coupon.Coupon { return randomCoupon(rand.New(rand.NewPCG(1, 1)), "cpn_a") }
	narrowed := sound()
	narrowed.Distribution, narrowed.AllowedUserEmails = coupon.UserSpecific, coupon.NarrowedEmailSet(3, "ann@example.org")
	several := sound()
	several.Distribution, several.Scope = coupon.General, coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems("a", "b", "c")}
	for name, c := range map[string]struct {
		coupon *coupon.Coupon
		limits offers.Limits
		field  string
	}{
		"no coupon":             {nil, offers.Limits{}, "coupons[0]"},
		"no ID of a coupon":     {randomCoupon(rand.New(rand.NewPCG(1, 1)), "a"), offers.Limits{}, "coupons[0].id"},
		"a narrowed allow-list": {narrowed, offers.Limits{}, "coupons[0].allowedUserEmails"},
		"too many entries":      {several, offers.Limits{MaxEntries: 2}, "coupons"},
		"a negative limit":      {several, offers.Limits{MaxEntries: -1}, "coupons"},
	} {
		var invalid *validation.Error
		_, err := offers.New(slices.Values([]*coupon.Coupon{c.coupon}), c.limits)
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, c.field, invalid.Fields[0].Path, name)
		empty, err := offers.New(slices.Values([]*coupon.Coupon{}), c.limits)
		require.NoError(t, err)
		_, err = empty.With(c.coupon)
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, c.field, invalid.Fields[0].Path, name)
		require.Zero(t, empty.Len())
	}
	var s offers.Search
	_, _, err := s.Best(new(offers.Index), offers.Query{})
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, q := smallShop(rand.New(rand.NewPCG(1, 1)), 0)
	for _, n := range []int{0, -1, offers.MaxOffers + 1} {
		_, err = s.Top(new(offers.Index), q, n)
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
}

// TestANilIndexIsEmpty, such as that of an atomic pointer before the first index is stored.
func TestANilIndexIsEmpty(t *testing.T) {
	t.Parallel()
	var none *offers.Index
	var search offers.Search
	q := offers.Query{Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 1, UnitPrice: 10_00}}}}
	_, found, err := search.Best(none, q)
	require.NoError(t, err)
	require.False(t, found)
	_, err = search.Top(none, q, 1)
	require.NoError(t, err)
	_, err = search.Nearly(none, q, offers.NearOptions{Most: 1})
	require.NoError(t, err)
	_, err = search.Set(none, q, offers.SetOptions{MaxCoupons: 2})
	require.NoError(t, err)
	require.Zero(t, none.Len())
	require.Nil(t, none.Get("cpn_1"))
	require.Zero(t, none.Without("cpn_1").Len())
	next, err := none.With()
	require.NoError(t, err)
	require.Zero(t, next.Len())
	next, err = offers.New(nil, offers.Limits{})
	require.NoError(t, err)
	require.Zero(t, next.Len())
}

// TestANilCouponIsNamed by its path, wherever a search takes coupons.
func TestANilCouponIsNamed(t *testing.T) {
	t.Parallel()
	var search offers.Search
	q := offers.Query{Cart: pricing.Cart{Currency: pricing.EUR()}}
	none, set := []*coupon.Coupon{nil}, offers.SetOptions{MaxCoupons: 2}
	_, err := search.Choose(none, q, offers.ChoiceOptions{SetOptions: set})
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.ErrorContains(t, err, "coupons[0]: a coupon is required")
	set.Beside = none
	_, err = search.Set(&offers.Index{}, q, set)
	require.ErrorContains(t, err, "beside[0]: a coupon is required")
	_, err = search.Nearly(&offers.Index{}, q, offers.NearOptions{Most: 1, Beside: none})
	require.ErrorContains(t, err, "beside[0]: a coupon is required")
}
