package stripeprocessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// Two applications on one account, or two stages of one whose databases were copied: Stripe
// tells each of the other's sessions, and lists them all.

// staging is the other application.
func (w *world) staging() *stripeprocessor.Processor {
	w.Helper()
	return w.anotherProcess(func(o *stripeprocessor.Options) { o.App, o.IDPrefix = "staging", "st" })
}

// TestSalesOfAnotherAppAreNotOurs: what staging sells uses nothing up, though its coupon and
// its order have the IDs of ours, and is nothing of which the service has heard.
func TestSalesOfAnotherAppAreNotOurs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.create("summer", 1)
	ours := s.checkout("SUMMER", "ann", "cart-1", phones(3))
	snapshot := c.Snapshot()
	r := s.request("cart-1")
	r.OrderID, r.Coupons = ours.Order.ID, []coupon.Snapshot{snapshot}
	r.Metadata = map[string]string{
		processor.MetadataCouponID: c.ID, processor.MetadataOrderID: r.OrderID,
		processor.MetadataCustomerID: "ann",
	}
	theirs, err := s.staging().CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NotContains(t, theirs.Metadata, "couponkitApp")

	require.NoError(t, s.account.Pay(theirs.ID))
	refused, err := s.account.Deliver(t.Context(), s.server.Client(), s.address)
	require.NoError(t, err)
	require.Zero(t, refused, "an event that is not ours is no failure")
	require.Zero(t, s.used(c))

	require.NoError(t, s.account.Pay(ours.Session.ID))
	_, err = s.account.Deliver(t.Context(), s.server.Client(), s.address)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.used(c))
}

func (s *shop) used(c coupon.Coupon) int64 {
	s.Helper()
	now, err := s.service.Get(s.Context(), c.ID)
	require.NoError(s, err)
	return now.UsedCount
}

// TestEqualRequestsOfTwoApps have two sessions, also where the answer was lost.
func TestEqualRequestsOfTwoApps(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request(w, "key")
			ours, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			theirs, err := w.staging().CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.NotEqual(t, ours.ID, theirs.ID)
			for app, p := range map[string]*stripeprocessor.Processor{ours.ID: w.processor, theirs.ID: w.staging()} {
				again, err := p.CreateSession(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, app, again.ID)
			}
			require.Len(t, w.account.Sessions(), 2)
		})
	}
}
