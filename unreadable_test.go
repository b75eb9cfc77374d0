package couponkit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// damagedStore is a store that cannot read some records, by their IDs.
type damagedStore struct {
	store.Store
	damaged map[string]bool
}

// damagedBehind puts a store between the world's service and its store that cannot read the records.
func damagedBehind(w *world, ids ...string) {
	s := damagedStore{w.store, map[string]bool{}}
	for _, id := range ids {
		s.damaged[id] = true
	}
	service, err := couponkit.New(s, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithUsers(nil), couponkit.WithPoints(w.ledger))
	require.NoError(w.t, err)
	w.Service = service
}

func (s damagedStore) check(kind, id string) error {
	if s.damaged[id] {
		return &store.UnreadableError{Kind: kind, ID: id, Reason: "damaged"}
	}
	return nil
}

// split takes the records out of a page that cannot be read.
func split[R any](records []R, check func(R) error) (items []R, unreadable []*store.UnreadableError) {
	items = slices.DeleteFunc(records, func(r R) bool {
		var record *store.UnreadableError
		if errors.As(check(r), &record) {
			unreadable = append(unreadable, record)
		}
		return record != nil
	})
	return items, unreadable
}

func (s damagedStore) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	found, err := s.Store.LookUp(ctx, by)
	for _, f := range found.Coupons {
		if f == nil {
			continue
		}
		_ = errors.As(s.check("coupon", f.Coupon.ID), &f.Unreadable)
		for _, u := range f.Held {
			_ = errors.As(s.check("use", u.ID), &f.Unreadable)
		}
	}
	found.Orders, found.Unreadable = split(found.Orders, func(o store.Settled) error { return s.check("order", o.Order.ID) })
	return found, err
}

func (s damagedStore) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	reserved, err := s.Store.Reserve(ctx, r)
	for _, u := range reserved.Uses {
		err = errors.Join(err, s.check("use", u.ID))
	}
	return reserved, err
}

func (s damagedStore) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	page, err := s.Store.ListCoupons(ctx, l)
	page.Items, page.Unreadable = split(page.Items, func(c coupon.Coupon) error { return s.check("coupon", c.ID) })
	return page, err
}

func (s damagedStore) ListOrders(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
	page, err := s.Store.ListOrders(ctx, l)
	page.Items, page.Unreadable = split(page.Items, func(o store.Settled) error { return s.check("order", o.Order.ID) })
	return page, err
}

func (s damagedStore) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	page, err := s.Store.ListUses(ctx, l)
	page.Items, page.Unreadable = split(page.Items, func(u redemption.Use) error { return s.check("use", u.ID) })
	return page, err
}

// TestASweepGoesOnBesideOrdersThatCannotBeRead: it finishes the others, reports each order that it
// cannot read, and pages on behind those orders.
func TestASweepGoesOnBesideOrdersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]swept{0: {Cancelled: 3, Failed: 2}, 1: {Cancelled: 1, Failed: 2}, 2: {Cancelled: 2, Failed: 2}} {
		w := lapsed(t, 5, 0)
		due, err := w.Orders(t.Context(), store.OrderList{DueAt: w.now})
		require.NoError(t, err)
		bad := []string{due.Items[0].Order.ID, due.Items[1].Order.ID}
		damagedBehind(w, bad...)
		got, err := w.Sweep(t.Context(), limit)
		require.Equal(t, want, counted(got), "limit %d", limit)
		require.ErrorIs(t, err, store.ErrUnreadable)
		for _, id := range bad {
			require.ErrorContains(t, err, id)
		}
	}
}

// TestASweepGivesUpWhenTooManyOrdersCannotBeRead: as when too many orders fail.
func TestASweepGivesUpWhenTooManyOrdersCannotBeRead(t *testing.T) {
	t.Parallel()
	w := lapsed(t, 14, 0)
	due, err := w.Orders(t.Context(), store.OrderList{DueAt: w.now})
	require.NoError(t, err)
	var bad []string
	for _, o := range due.Items[:12] {
		bad = append(bad, o.Order.ID)
	}
	damagedBehind(w, bad...)
	got, err := w.Sweep(t.Context(), 1)
	require.Equal(t, swept{Failed: 10}, counted(got))
	require.ErrorIs(t, err, store.ErrUnreadable)
}

// TestAReconcileGoesOnBesideACouponThatCannotBeRead: it repairs the others, reports that coupon, and
// does not take the coupon's mirror for an orphan.
func TestAReconcileGoesOnBesideACouponThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	points := forPoints()
	points.Code = "POINTS"
	older, bad, newer := w.create(t, tenOff()), w.create(t, percentOff(20)), w.create(t, points)
	for _, c := range []coupon.Coupon{older, newer} {
		require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
	}
	damagedBehind(w, bad.ID)
	w.fake.ForgetCalls()
	drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.ErrorIs(t, err, store.ErrUnreadable)
	found := map[string]couponkit.Drift{}
	for _, d := range drifts {
		found[d.CouponID] = d
	}
	require.Len(t, drifts, 3)
	require.True(t, found[older.ID].Repaired && found[newer.ID].Repaired)
	require.ErrorIs(t, found[bad.ID].Err, store.ErrUnreadable)
	require.False(t, found[bad.ID].Repaired)
	for _, call := range w.fake.Calls() {
		require.NotEqual(t, fakeprocessor.DeleteCoupon, call.Op)
	}
}

// TestCallsAboutACouponThatCannotBeRead: they fail with an error of their own. Its code is taken.
func TestCallsAboutACouponThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad, good := w.create(t, tenOff()), w.create(t, percentOff(20))
	damagedBehind(w, bad.ID)
	page, err := w.List(t.Context(), store.CouponList{})
	require.NoError(t, err)
	require.EqualValues(t, 2, page.Total)
	require.Len(t, page.Items, 1)
	require.Equal(t, good.ID, page.Items[0].ID)
	require.Equal(t, bad.ID, page.Unreadable[0].ID)
	for name, call := range map[string]func() error{
		"Get":    func() error { _, err := w.Get(t.Context(), bad.ID); return err },
		"Find":   func() error { _, err := w.Find(t.Context(), "TEN"); return err },
		"Delete": func() error { return w.Delete(t.Context(), bad.ID) },
		"Update": func() error {
			_, err := w.Update(t.Context(), bad.ID, coupon.Patch{Name: coupon.Set("New")})
			return err
		},
		"Quote": func() error {
			_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only("TEN"), Customer: ann})
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, store.ErrUnreadable, name)
		require.Nil(t, coupon.RejectionsOf(err), name)
	}
	_, err = w.Create(t.Context(), tenOff())
	var taken *coupon.Rejection
	require.ErrorAs(t, err, &taken)
	require.ErrorIs(t, err, coupon.ErrCodeTaken)
	require.Equal(t, bad.ID, taken.CouponID)
}

// TestACheckoutBesideAnOpenOrderThatCannotBeRead: that order is not replaced, so that its claims
// count. The checkout is refused for a limit and does not fail.
func TestACheckoutBesideAnOpenOrderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	open := w.checkout(t, w.request("TEN"))
	damagedBehind(w, open.Order.ID)
	again := w.request("TEN")
	again.Key = "another"
	_, err := w.Checkout(t.Context(), again)
	require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached)
	require.NotErrorIs(t, err, store.ErrUnreadable)
}

// TestExchangesBesideOneThatCannotBeRead: the others are listed. A repeated key does not debit
// points again.
func TestExchangesBesideOneThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.create(t, forPoints())
	other := forPoints()
	other.Code = "OTHER"
	two := w.create(t, other)
	w.ledger.Credit(ann.ID, 100)
	first := couponkit.ExchangeRequest{Key: "first", Coupon: one.ID, Customer: ann}
	bad, err := w.ExchangePoints(t.Context(), first)
	require.NoError(t, err)
	good := w.exchange(t, two)
	damagedBehind(w, bad.ID)
	held, err := w.Exchanges(t.Context(), ann.ID)
	require.ErrorIs(t, err, store.ErrUnreadable)
	require.Len(t, held, 1)
	require.Equal(t, good.ID, held[0].ID)
	before := w.ledger.Balance(ann.ID)
	_, err = w.ExchangePoints(t.Context(), first)
	require.ErrorIs(t, err, store.ErrUnreadable)
	require.Equal(t, before, w.ledger.Balance(ann.ID))
}
