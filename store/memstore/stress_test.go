package memstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

func newCoupon(tb testing.TB, id string, limits coupon.Limits) coupon.Coupon {
	tb.Helper()
	code, err := coupon.ParseCode("CODE-" + id)
	require.NoError(tb, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(tb, err)
	return coupon.Coupon{
		ID: coupon.IDPrefix + id, Code: code, Name: "Coupon " + id, Discount: pricing.PercentOff(percent),
		Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
		Limits: limits, State: coupon.Active, CreatedAt: noon(), UpdatedAt: noon(), Revision: 1,
	}
}

// reservation is a request of a customer to use a coupon for an order, n of its kind.
func reservation(c coupon.Coupon, customer, n string) store.Reservation {
	snapshot := c.Snapshot()
	o := store.Order{
		ID: "ord_" + n, Key: "key-" + n, CustomerID: customer, State: store.OrderOpen, CouponID: c.ID, Coupon: &snapshot,
		ReservationID: "rsv_" + n, Deadline: noon().Add(time.Hour), CreatedAt: noon(), UpdatedAt: noon(),
	}
	return store.Reservation{Order: &o, Redemption: redemption.Redemption{
		ID: o.ReservationID, Key: o.Key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromCheckout, OrderID: o.ID, Deadline: o.Deadline, CreatedAt: noon(), UpdatedAt: noon(),
	}}
}

// payment is the completed session of a reservation.
func payment(r store.Reservation, session, newID string) store.Settlement {
	return store.Settlement{
		Event: redemption.Event{
			Kind: redemption.SessionCompleted, At: noon().Add(time.Minute), SessionID: session, OrderID: r.Redemption.OrderID,
		},
		ReservationID: r.Redemption.ID, CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID, NewID: newID,
	}
}

// TestNobodyWaitsForEver calls everything on a few coupons from many goroutines, so
// that every pair of locks is taken at once. Coupons come and go, and payments name
// reservations, orders and coupons that do not belong together.
func TestNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	const coupons, goroutines, calls = 6, 16, 150
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range calls {
				n := fmt.Sprintf("%d-%d", g, i)
				c := newCoupon(t, fmt.Sprint(r.IntN(coupons)), coupon.Limits{MaxUses: 500, MaxUsesPerUser: 200})
				other := newCoupon(t, fmt.Sprint(r.IntN(coupons)), coupon.Limits{})
				somebody := fmt.Sprint("customer-", r.IntN(4))
				shake(t, s, r, c, other, somebody, n)
			}
		})
	}
	running.Wait()
	if err := storetest.CheckInvariants(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// shake makes one call of every kind, or a few. What a call answers depends on the
// others; that it answers is what counts.
func shake(t *testing.T, s *memstore.Store, r *rand.Rand, c, other coupon.Coupon, customer, n string) {
	t.Helper()
	ctx := t.Context()
	request := reservation(c, customer, n)
	switch r.IntN(10) {
	case 0:
		_ = s.CreateCoupon(ctx, c)
		_ = s.CreateCoupon(ctx, other)
	case 1:
		if r.IntN(4) == 0 {
			_ = s.DeleteCoupon(ctx, c.ID, 1)
		}
	case 2:
		_, _ = s.ListCoupons(ctx, store.CouponList{Search: "coupon"})
		_, _ = s.ListRedemptions(ctx, store.RedemptionList{})
	case 3:
		_, _ = s.Due(ctx, noon().Add(2*time.Hour), 10)
		_, _ = s.OpenOrders(ctx, noon().Add(2*time.Hour), 10)
	case 4:
		if _, err := s.Reserve(ctx, request); err == nil {
			stray := payment(request, "cs_stray_"+n, "rsv_stray_"+n)
			stray.CouponID, stray.ReservationID = other.ID, fmt.Sprintf("rsv_%d-%d", r.IntN(16), r.IntN(150))
			_, _ = s.Settle(ctx, stray)
		}
	default:
		if _, err := s.Reserve(ctx, request); err != nil {
			return
		}
		session := "cs_" + n
		_, _ = s.AttachSession(ctx, store.Attachment{OrderID: request.Order.ID, SessionID: session, Deadline: noon().Add(time.Hour), At: noon()})
		_, _ = s.LookUp(ctx, store.LookUp{Code: c.Code, CustomerID: customer})
		if r.IntN(3) > 0 {
			_, _ = s.Settle(ctx, payment(request, session, "rsv_new_"+n))
			return
		}
		_, _ = s.Transition(ctx, request.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: noon(), SessionID: session})
	}
}

// TestPaymentsBesideAChangingCatalogue records payments without a reservation while
// coupons are listed, made and deleted: the locks of the catalogue and of the books
// are taken in one order.
func TestPaymentsBesideAChangingCatalogue(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	c := newCoupon(t, "paid", coupon.Limits{})
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	for i := range 300 { // listed before it, so that listing takes its time
		require.NoError(t, s.CreateCoupon(t.Context(), newCoupon(t, fmt.Sprint("unpaid-", i), coupon.Limits{})))
	}
	const rounds = 4_000
	var paid atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		defer paid.Store(true)
		for i := range rounds {
			n := fmt.Sprint(i)
			done, err := s.Settle(t.Context(), payment(reservation(c, "ann", n), "cs_"+n, "rsv_"+n))
			if err != nil || !done.Changed {
				t.Errorf("a payment was not recorded: %v", err)
			}
		}
	})
	running.Go(func() {
		for !paid.Load() {
			_, _ = s.ListCoupons(t.Context(), store.CouponList{})
		}
	})
	for g := range 2 {
		running.Go(func() {
			for other := newCoupon(t, fmt.Sprint("brief-", g), coupon.Limits{}); !paid.Load(); {
				_ = s.CreateCoupon(t.Context(), other)
				_ = s.DeleteCoupon(t.Context(), other.ID, 1)
			}
		})
	}
	running.Wait()
	stored, err := s.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	if stored.UsedCount != rounds {
		t.Errorf("%d of %d payments were counted", stored.UsedCount, rounds)
	}
}

// TestASessionIsThatOfOneRedemption: at one instant a session is attached to reservations
// of several coupons, and paid with metadata that name others.
func TestASessionIsThatOfOneRedemption(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	const coupons = 4
	var of [coupons]coupon.Coupon
	for i := range of {
		of[i] = newCoupon(t, fmt.Sprint(i), coupon.Limits{})
		require.NoError(t, s.CreateCoupon(t.Context(), of[i]))
	}
	for round := range 300 {
		session := fmt.Sprint("cs_", round)
		var running sync.WaitGroup
		for i, c := range of {
			n := fmt.Sprintf("%d-%d", round, i)
			r := reservation(c, "ann", n)
			_, err := s.Reserve(t.Context(), r)
			require.NoError(t, err)
			running.Go(func() {
				_, err := s.AttachSession(t.Context(), store.Attachment{OrderID: r.Order.ID, SessionID: session, At: noon(), Deadline: noon()})
				if err != nil && !errors.Is(err, store.ErrSuperseded) {
					t.Error(err)
				}
			})
			running.Go(func() {
				lost := payment(r, session, "rsv_paid_"+n)
				lost.ReservationID, lost.Event.OrderID = "", ""
				if _, err := s.Settle(t.Context(), lost); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		var having []string
		for i := range of {
			for _, id := range []string{fmt.Sprintf("rsv_%d-%d", round, i), fmt.Sprintf("rsv_paid_%d-%d", round, i)} {
				if r, err := s.Redemption(t.Context(), id); err == nil && r.SessionID == session {
					having = append(having, fmt.Sprint(id, " ", r.State))
				}
			}
		}
		if len(having) != 1 || !strings.HasSuffix(having[0], " completed") {
			t.Fatalf("session %s was paid, and is that of %q", session, having)
		}
	}
}
