package pgxstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestAnOrderOfNoInstant: an order may be without the instants at which it was made and
// changed, and is stored with its reservation as it is, alone and in a batch.
func TestAnOrderOfNoInstant(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	c := newCoupon(t, "timeless")
	require.NoError(t, newStore(t, pool, pgxstore.Options{}).CreateCoupon(t.Context(), c))
	for way, options := range map[string]pgxstore.Options{"alone": {Batch: pgxstore.BatchOptions{Off: true}}, "batched": {}} {
		s := newStore(t, pool, options)
		for field, instant := range map[string]func(*store.Order) *time.Time{
			"createdAt": func(o *store.Order) *time.Time { return &o.CreatedAt },
			"updatedAt": func(o *store.Order) *time.Time { return &o.UpdatedAt },
		} {
			r := checkout(c, quote(t), way, field, epoch)
			*instant(r.Order) = time.Time{}
			reserved, err := s.Reserve(t.Context(), r)
			require.NoError(t, err, "%s without %s", way, field)
			got, err := s.Order(t.Context(), r.Order.ID)
			require.NoError(t, err)
			require.Equal(t, reserved.Order, got)
			require.Zero(t, *instant(&got))
		}
	}
}

// TestAWindowThatIsLost: instants are kept to the microsecond, and a coupon that is valid for
// less than one would never be.
func TestAWindowThatIsLost(t *testing.T) {
	t.Parallel()
	s := newStore(t, newDatabase(t, pgxstore.Namespace{}), pgxstore.Options{})
	stored, created := newCoupon(t, "stored"), newCoupon(t, "created")
	require.NoError(t, s.CreateCoupon(t.Context(), stored))
	for _, c := range []*coupon.Coupon{&stored, &created} {
		c.StartsAt, c.ExpiresAt = epoch.Add(100*time.Nanosecond), epoch.Add(900*time.Nanosecond)
	}
	_, failed := s.UpdateCoupon(t.Context(), stored)
	for call, err := range map[string]error{"CreateCoupon": s.CreateCoupon(t.Context(), created), "UpdateCoupon": failed} {
		var faults *pricing.ValidationError
		require.ErrorAs(t, err, &faults, call)
		require.Equal(t, "expiresAt", faults.Fields[0].Field, call)
	}
	created.ExpiresAt = epoch.Add(time.Microsecond)
	require.NoError(t, s.CreateCoupon(t.Context(), created))
}
