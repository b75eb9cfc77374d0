package pgxstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// Followers with connections of their own have what the store has, although their connections are cut while
// coupons change.
func TestOffersFollowTheStore(t *testing.T) {
	t.Parallel()
	ctx, database := t.Context(), shared.NewCopy(t)
	connect := func(name string) (*pgxpool.Pool, *pgxstore.Store) {
		pool := postgrestest.NewPool(t, database, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = name })
		return pool, newStore(t, pool, pgxstore.Options{})
	}
	pool, s := connect("shop")
	shop, err := couponkit.New(s, couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})))
	require.NoError(t, err)
	var followers [2]*couponkit.Offers
	for i := range followers {
		_, own := connect("follower")
		followers[i] = couponkit.NewOffers(own, offers.Limits{})
	}
	var following sync.WaitGroup
	done := make(chan struct{})
	for _, o := range followers {
		following.Go(func() {
			for {
				_, _ = o.Update(ctx) // whose connection may have been cut
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	var changing sync.WaitGroup
	for worker := range 3 {
		changing.Go(func() {
			for i := range 20 {
				c, err := shop.Create(ctx, coupon.Draft{
					Code: fmt.Sprint("C", worker, "-", i), Name: "x", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "1"},
					Distribution: coupon.UserSpecific, AllowedUserEmails: coupon.EmailList{"ann@example.org"},
				})
				if err == nil && i%2 == 0 {
					_, err = shop.SetActive(ctx, c.ID, i%4 == 0)
				}
				if err == nil && i%5 == 0 {
					err = shop.Delete(ctx, c.ID)
				}
				if err != nil {
					t.Error(err)
				}
				if i%4 == 3 {
					_, err := pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'follower' AND datname = current_database()`)
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	changing.Wait()
	close(done)
	following.Wait()
	for _, o := range followers {
		_, err := o.Update(ctx)
		for range 50 { // connections of the pool that were cut
			if err != nil {
				_, err = o.Update(ctx)
			}
		}
		require.NoError(t, err)
		want, got := activeRevisions(t, s), map[string]int64{}
		for id := range want {
			if c := o.Index().Get(id); c != nil {
				got[id] = c.Revision
			}
		}
		require.Equal(t, want, got)
		require.Equal(t, len(want), o.Index().Len())
	}
}

// activeRevisions returns the revision of each active coupon by its ID.
func activeRevisions(t *testing.T, s store.Store) map[string]int64 {
	t.Helper()
	active := map[string]int64{}
	list := store.CouponList{State: coupon.Active, PageSize: store.MaxPageSize}
	for more := true; more; more = list.After != "" {
		page, err := s.ListCoupons(t.Context(), list)
		require.NoError(t, err)
		for _, c := range page.Items {
			active[c.ID] = c.Revision
		}
		list.After = page.Next
	}
	return active
}
