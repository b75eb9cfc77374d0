package pgxstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// Instants at both ends of the calendar, of which PostgreSQL writes another year in the time
// zone of the session.
var (
	never  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	always = time.Date(1, 1, 1, 0, 0, 0, 1_000, time.UTC)
)

// TestInstantsAtTheEndsOfTheCalendar: whatever the time zone of the session and the way in
// which statements are sent, an instant that can be stored is read back as it is.
func TestInstantsAtTheEndsOfTheCalendar(t *testing.T) {
	t.Parallel()
	dsn := shared.NewCopy(t)
	for i, zone := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati", "America/New_York"} {
		for _, mode := range []pgx.QueryExecMode{0, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			name := fmt.Sprintf("ZONE-%d-%d", i, mode)
			t.Run(fmt.Sprintf("%s, mode %d", zone, mode), func(t *testing.T) {
				pool := postgrestest.NewPool(t, dsn, func(c *pgxpool.Config) {
					c.MaxConns = 2
					c.ConnConfig.RuntimeParams["timezone"] = zone
				})
				checkCalendar(t, newStore(t, pool, pgxstore.Options{QueryExecMode: mode}), name)
			})
		}
	}
}

func checkCalendar(t *testing.T, s *pgxstore.Store, name string) {
	t.Helper()
	customer := "customer-" + name
	c := newCoupon(t, name, func(c *coupon.Coupon) { c.StartsAt, c.ExpiresAt = always, never })
	done(t, s.CreateCoupon(t.Context(), c))
	r := checkout(c, quote(t), customer, name, epoch)
	r.Redemption.Deadline, r.Order.Deadline = never, never
	_, err := s.Reserve(t.Context(), r)
	done(t, err)
	c.ReservedCount = 1
	checkCalendarOfCoupon(t, s, c)

	found, err := s.LookUp(t.Context(), store.LookUp{Code: c.Code, CustomerID: customer})
	same(t, "LookUp", found.Held, []redemption.Redemption{r.Redemption}, err)
	kept, err := s.Redemption(t.Context(), r.Redemption.ID)
	same(t, "Redemption", kept, r.Redemption, err)
	listed, err := s.ListRedemptions(t.Context(), store.RedemptionList{CouponID: c.ID})
	same(t, "ListRedemptions", listed.Items, []redemption.Redemption{r.Redemption}, err)
	order, err := s.Order(t.Context(), r.Order.ID)
	same(t, "Order", order, *r.Order, err)

	settled, err := s.Settle(t.Context(), store.Settlement{
		Event:         redemption.Event{Kind: redemption.SessionCompleted, SessionID: "cs-" + name, OrderID: r.Order.ID, At: never},
		ReservationID: r.Redemption.ID,
	})
	same(t, "Settle", settled.Redemption.CompletedAt, never, err)
}

func checkCalendarOfCoupon(t *testing.T, s *pgxstore.Store, c coupon.Coupon) {
	t.Helper()
	got, err := s.Coupon(t.Context(), c.ID)
	same(t, "Coupon", got, c, err)
	found, err := s.LookUp(t.Context(), store.LookUp{Code: c.Code})
	same(t, "LookUp", found.Coupon, c, err)
	searched, err := s.ListCoupons(t.Context(), store.CouponList{Search: c.Name})
	same(t, "ListCoupons with a search", searched.Items, []coupon.Coupon{c}, err)
	_, err = s.ListCoupons(t.Context(), store.CouponList{})
	done(t, err)
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// same tells what a call has answered instead.
func same[T any](t *testing.T, call string, got, want T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", call, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", call, diff)
	}
}
