//go:build dqlite && libsqlite3

package dqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestContract runs the suite. Each clause has a database of its own on one cluster.
func TestContract(t *testing.T) {
	c := newCluster(t)
	var made atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return c.store(t, fmt.Sprintf("clause%d.db", made.Add(1)))
	}, storetest.Capabilities{Reopen: func(t *testing.T, s store.Store) store.Store {
		t.Helper()
		return c.store(t, s.(*named).database)
	}})
}

// TestKillingTheLeaderLosesNothing kills the leader twice while customers use a coupon up.
// Exactly the allowed uses succeed, and every acknowledged payment is stored.
func TestKillingTheLeaderLosesNothing(t *testing.T) {
	const uses, callers = 1_000, 8
	c := newCluster(t)
	b := &buyers{store: c.store(t, "shop.db"), coupon: hotCoupon(t, uses)}
	_, err := b.store.SaveCoupon(t.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: b.coupon, At: noon()})
	require.NoError(t, err)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() { b.buy(t) })
	}
	for range 2 {
		b.waitFor(t, uses/5)
		killed := c.leader(t)
		require.Less(t, len(b.acknowledged()), uses, "the buyers had finished before the leader was killed")
		killed.kill(t)
		b.waitFor(t, callers+1) // another leader has answered the last of these calls
		killed.start(t)
	}
	running.Wait()

	all, err := storetest.Read(t.Context(), b.store)
	require.NoError(t, err)
	require.NoError(t, all.Check())
	var stored []string
	for _, o := range all.Orders {
		require.Equal(t, redemption.OrderPaid, o.Order.State, o.Order.ID)
		stored = append(stored, o.Order.ID)
	}
	if diff := cmp.Diff(b.acknowledged(), stored); diff != "" {
		t.Errorf("paid orders (-acknowledged +stored):\n%s", diff)
	}
	if diff := cmp.Diff(redemption.Count{Completed: uses}, all.Counters[redemption.CouponUses(b.coupon.ID)]); diff != "" {
		t.Errorf("uses of the coupon (-want +got):\n%s", diff)
	}
}

// buyers use a coupon up.
type buyers struct {
	store  store.Store
	coupon coupon.Coupon
	next   atomic.Int64 // numbers the customers

	mu   sync.Mutex
	paid []string // IDs of orders whose payment was acknowledged
}

func (b *buyers) buy(t *testing.T) {
	t.Helper()
	for {
		r := checkout(t, b.coupon, fmt.Sprint("customer-", b.next.Add(1)))
		paid := store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: noon(), OrderID: r.Order.ID, SessionID: "cs_" + r.Order.ID}}
		err := answered(t, func(ctx context.Context) error { _, err := b.store.Reserve(ctx, r); return err })
		if err == nil {
			err = answered(t, func(ctx context.Context) error { _, err := b.store.Apply(ctx, paid); return err })
		}
		if err != nil {
			if !errors.Is(err, store.ErrLimit) {
				t.Errorf("%s: %v", r.Order.ID, err)
			}
			return
		}
		b.mu.Lock()
		b.paid = append(b.paid, r.Order.ID)
		b.mu.Unlock()
	}
}

// answered repeats a call that fails until the store has decided.
func answered(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	for {
		err := call(ctx)
		if err == nil || errors.Is(err, store.ErrLimit) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// acknowledged returns the IDs of the orders, sorted.
func (b *buyers) acknowledged() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.paid))
}

// waitFor waits until so many more payments are acknowledged.
func (b *buyers) waitFor(t *testing.T, more int) {
	t.Helper()
	want := len(b.acknowledged()) + more
	require.Eventually(t, func() bool { return len(b.acknowledged()) >= want }, 2*soon, 10*time.Millisecond)
}

func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

// hotCoupon may be used so often, and once by each customer.
func hotCoupon(t *testing.T, uses int64) coupon.Coupon {
	t.Helper()
	code, err := coupon.ParseCode("HOT")
	require.NoError(t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	return coupon.Coupon{
		ID: coupon.IDPrefix + "hot", Code: code, Name: "Hot", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
		Limits: coupon.Limits{MaxUses: uses, MaxUsesPerUser: 1},
		State:  coupon.Active, Revision: 1, CreatedAt: noon(), UpdatedAt: noon(),
	}
}

// checkout is an order of the customer with one use of the coupon.
func checkout(t *testing.T, c coupon.Coupon, customer string) store.Reservation {
	t.Helper()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 10_000},
	}}
	quote, err := pricing.Price(cart, c.Discount, nil)
	require.NoError(t, err)
	order := redemption.Order{
		ID: "ord_" + customer, Key: "key", Fingerprint: "cart", CustomerID: customer, State: redemption.OrderOpen,
		Quote: quote, Coupons: []coupon.Snapshot{c.Snapshot()}, Deadline: noon().Add(time.Hour), CreatedAt: noon(),
	}
	use := redemption.Use{
		ID: "use_" + customer, CouponID: c.ID, CustomerID: customer, OrderID: order.ID, State: redemption.Reserved,
		Origin: redemption.FromCheckout, Discount: 1_000, CreatedAt: noon(),
		Claims: []redemption.Claim{
			{Counter: redemption.CustomerUses(c.ID, customer), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
			{Counter: redemption.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
		},
	}
	return store.Reservation{
		Order: order, Uses: []redemption.Use{use}, Coupons: []store.CouponAt{{ID: c.ID, Revision: c.Revision}},
	}
}
