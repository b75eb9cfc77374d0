package sqldb_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// joined runs the calls so that they are one batch, in this order.
func (s shop) joined(t *testing.T, opened store.Store, calls ...func()) {
	t.Helper()
	s.inOneBatch(t, calls...)
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
}

// inOneBatch is joined for calls that leave something odd: the host holds the write lock
// until all of them wait.
func (s shop) inOneBatch(t *testing.T, calls ...func()) {
	t.Helper()
	_, db := s.open(t)
	host := s.begin(t, db)
	_, err := host.ExecContext(t.Context(), "DELETE FROM orders WHERE id = 'none'") // takes the lock
	require.NoError(t, err)
	var running sync.WaitGroup
	for _, call := range calls {
		running.Go(call)
		time.Sleep(2 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, host.Rollback())
	running.Wait()
}

func forEachSQLite(t *testing.T, test func(t *testing.T, s shop)) {
	t.Helper()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sqliteShop(t, driver))
		})
	}
}

// outcome is what a reservation was answered.
type outcome struct {
	store.Reserved
	err error
}

func (s shop) reserveJoined(t *testing.T, opened store.Store, requests ...store.Reservation) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(requests))
	calls := make([]func(), len(requests))
	for i, r := range requests {
		calls[i] = func() { outcomes[i].Reserved, outcomes[i].err = opened.Reserve(t.Context(), r) }
	}
	s.joined(t, opened, calls...)
	return outcomes
}

func exchangeOf(c coupon.Coupon, customer, name string) store.Reservation {
	return store.Reservation{Redemption: redemption.Redemption{
		ID: redemption.IDPrefix + name, Key: "key-" + name, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromPoints, Points: 50, PointsState: redemption.PointsPending,
		Deadline: noon().Add(time.Hour), CreatedAt: noon(), UpdatedAt: noon(),
	}}
}

// The last places of a coupon go to as many calls of one batch as there are places.
func TestABatchKeepsTheLimitOverAll(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(coupon.Coupon, string, string) store.Reservation{
		"checkouts": checkoutOf, "exchanges": exchangeOf,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachSQLite(t, func(t *testing.T, s shop) {
				t.Helper()
				opened, _ := s.open(t)
				c := limitedCoupon("LAST", 13, 2)
				require.NoError(t, opened.CreateCoupon(t.Context(), c))
				var requests []store.Reservation
				for i := range 40 {
					requests = append(requests, request(c, customer(i), fmt.Sprint("r", i)))
				}
				kept := 0
				for _, o := range s.reserveJoined(t, opened, requests...) {
					if o.err == nil {
						kept++
						continue
					}
					require.ErrorIs(t, o.err, coupon.ErrUsageLimitReached)
				}
				require.Equal(t, 13, kept)
			})
		})
	}
}

// One customer's calls in one batch meet each other.
func TestABatchKeepsTheLimitOfACustomer(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c := limitedCoupon("MINE", 100, 2)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		_, err := opened.Reserve(t.Context(), checkoutOf(c, "ann", "before"))
		require.NoError(t, err)
		var requests []store.Reservation
		for i := range 5 {
			requests = append(requests, checkoutOf(c, "ann", fmt.Sprint("ann", i)), checkoutOf(c, "bob", fmt.Sprint("bob", i)))
		}
		kept := map[string]int{}
		for i, o := range s.reserveJoined(t, opened, requests...) {
			if o.err == nil {
				kept[requests[i].Redemption.CustomerID]++
				continue
			}
			require.ErrorIs(t, o.err, coupon.ErrUserUsageLimitReached)
		}
		require.Equal(t, map[string]int{"ann": 1, "bob": 2}, kept)
	})
}

// A key is used once, whether it was used before the batch or is used twice in it, by
// an order or in exchange for points.
func TestABatchKnowsKeys(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c, other := limitedCoupon("KEYS", 100, 0), limitedCoupon("OTHER", 0, 0)
		for _, c := range []coupon.Coupon{c, other} {
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
		}
		first, err := opened.Reserve(t.Context(), checkoutOf(c, "ann", "ann"))
		require.NoError(t, err)
		held, err := opened.Reserve(t.Context(), exchangeOf(c, "eve", "eve"))
		require.NoError(t, err)
		plain := checkoutOf(c, "kim", "plain").Order
		quote := must(pricing.Price(shopCart(), pricing.Discount{}, nil))
		plain.CouponID, plain.Coupon, plain.ReservationID, plain.Quote, plain.DiscountAmount = "", nil, "", quote, 0
		_, _, err = opened.CreateOrder(t.Context(), *plain)
		require.NoError(t, err)
		reused, ofPlain := exchangeOf(other, "ann", "reused"), exchangeOf(other, "kim", "of plain")
		reused.Redemption.Key, ofPlain.Redemption.Key = "key-ann", "key-plain"
		got := s.reserveJoined(t, opened,
			checkoutOf(c, "ann", "ann"), exchangeOf(c, "eve", "eve"), exchangeOf(c, "eve", "eve again"), reused,
			checkoutOf(c, "bob", "twice"), checkoutOf(c, "bob", "twice"), checkoutOf(c, "zoe", "zoe"), exchangeOf(c, "joe", "joe"),
		)
		require.True(t, got[0].Replayed)
		require.Equal(t, first.Redemption, got[0].Redemption)
		for _, i := range []int{1, 2} { // the customer holds one already
			require.NoError(t, got[i].err)
			require.True(t, got[i].Replayed)
			require.Equal(t, held.Redemption, got[i].Redemption)
		}
		require.ErrorIs(t, got[3].err, store.ErrKeyReused)
		require.NoError(t, got[4].err)
		require.NoError(t, got[5].err)
		require.NotEqual(t, got[4].Replayed, got[5].Replayed)
		require.Equal(t, got[4].Redemption, got[5].Redemption)
		require.NoError(t, got[6].err)
		require.NoError(t, got[7].err)
		got = s.reserveJoined(t, opened, ofPlain, checkoutOf(c, "max", "max"), exchangeOf(c, "moe", "moe"))
		require.ErrorIs(t, got[0].err, store.ErrKeyReused) // no index knows
		require.NoError(t, got[1].err)
		require.NoError(t, got[2].err)
	})
}

// An order cannot have the key of an exchange. That shows when it is half written: the
// batch is run again, each call by itself.
func TestAnOrderWithTheKeyOfAnExchangeInABatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c, other := limitedCoupon("KEYS", 100, 1), limitedCoupon("OTHER", 0, 0)
		for _, c := range []coupon.Coupon{c, other} {
			require.NoError(t, opened.CreateCoupon(t.Context(), c))
		}
		_, err := opened.Reserve(t.Context(), exchangeOf(c, "eve", "eve"))
		require.NoError(t, err)
		crossed := checkoutOf(other, "eve", "crossed")
		crossed.Redemption.Key, crossed.Order.Key = "key-eve", "key-eve"
		got := s.reserveJoined(t, opened, crossed, checkoutOf(c, "zoe", "zoe"), checkoutOf(c, "joe", "joe"))
		require.ErrorIs(t, got[0].err, store.ErrKeyReused)
		require.NoError(t, got[1].err)
		require.NoError(t, got[2].err)
		_, err = opened.Order(t.Context(), crossed.Order.ID)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

// A row that cannot be written fails alone, and the rest of its batch is answered.
func TestACallFailsAloneInItsBatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c := limitedCoupon("ALONE", 100, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		_, err := opened.Reserve(t.Context(), checkoutOf(c, "ann", "taken"))
		require.NoError(t, err)
		same := checkoutOf(c, "bob", "taken") // the IDs of another customer's
		same.Redemption.Key, same.Order.Key = "key-bob", "key-bob"
		requests := []store.Reservation{same}
		for i := range 11 {
			requests = append(requests, checkoutOf(c, customer(i), fmt.Sprint("good", i)))
		}
		got := s.reserveJoined(t, opened, requests...)
		require.ErrorIs(t, got[0].err, store.ErrConflict)
		for _, o := range got[1:] {
			require.NoError(t, o.err)
		}
		found, err := opened.Coupon(t.Context(), c.ID)
		require.NoError(t, err)
		require.EqualValues(t, 12, found.ReservedCount)
	})
}

// Payments of one batch complete each its own redemption and order; two with one
// session do not both, and one that says it twice changes nothing the second time.
func TestABatchOfPayments(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		c := limitedCoupon("PAID", 100, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		var payments []store.Settlement
		for i := range 12 {
			kept, err := opened.Reserve(t.Context(), checkoutOf(c, customer(i), fmt.Sprint(i)))
			require.NoError(t, err)
			payments = append(payments, settlementOf(redemption.SessionCompleted, kept.Redemption, fmt.Sprint("cs_", i)))
		}
		payments[11] = payments[10]
		settled, failures := make([]store.Settled, len(payments)), make([]error, len(payments))
		calls := make([]func(), len(payments))
		for i, payment := range payments {
			calls[i] = func() { settled[i], failures[i] = opened.Settle(t.Context(), payment) }
		}
		s.joined(t, opened, calls...)
		for i, got := range settled {
			require.NoError(t, failures[i])
			require.Equal(t, redemption.Completed, got.Redemption.State)
			require.Equal(t, store.OrderPaid, got.Order.State)
			require.NotEmpty(t, got.Order.Quote.Lines)
			stored, err := opened.Order(t.Context(), got.Order.ID)
			require.NoError(t, err)
			require.Equal(t, stored, got.Order)
			require.True(t, got.Changed || i >= 10)
		}
		require.NotEqual(t, settled[10].Changed, settled[11].Changed)
		found, err := opened.Coupon(t.Context(), c.ID)
		require.NoError(t, err)
		require.EqualValues(t, 11, found.UsedCount)
		require.EqualValues(t, 1, found.ReservedCount)
	})
}
