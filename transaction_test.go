package couponkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// inHost is a store that works inside a transaction of the host.
type inHost struct{ store.Store }

func (inHost) InTransaction() bool { return true }

// wrapper is a store around another one, as hosts write them.
type wrapper struct{ store.Store }

func (w wrapper) Unwrap() store.Store { return w.Store }

// within is the world's service inside a transaction of the host.
func (w *world) within(t *testing.T) *couponkit.Service {
	t.Helper()
	s, err := couponkit.New(wrapper{inHost{w.store}}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger),
		couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) { w.attempts = append(w.attempts, a) })))
	require.NoError(t, err)
	return s
}

// What a rollback would forget does not happen: nothing is stored, and nobody is asked.
func TestNothingIsChangedOutsideOfAHostsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	forPoints := forPoints()
	forPoints.Code = "POINTS"
	bought := w.create(t, forPoints)
	held := w.exchange(t, bought)
	open, sold := w.checkout(t, w.request("TEN")), w.sold(t)
	s := w.within(t)
	for op, call := range map[couponkit.Operation]func(ctx context.Context) error{ //nolint:exhaustive // the others change nothing outside
		couponkit.OpCheckout: func(ctx context.Context) error { _, err := s.Checkout(ctx, w.request("")); return err },
		couponkit.OpPaymentLink: func(ctx context.Context) error {
			_, err := s.PaymentLink(ctx, couponkit.PaymentLinkRequest{
				CheckoutRequest: w.request(""), Mode: couponkit.ProductLink, Amount: pricing.NewMoney(5_00, pricing.EUR()),
			})
			return err
		},
		couponkit.OpExchangePoints: func(ctx context.Context) error {
			_, err := s.ExchangePoints(ctx, couponkit.ExchangeRequest{Coupon: bought.ID, Customer: ann})
			return err
		},
		couponkit.OpRefund: func(ctx context.Context) error {
			_, err := s.Refund(ctx, couponkit.RefundRequest{OrderID: sold.ID, Key: "one", Returns: onePhone})
			return err
		},
		couponkit.OpCancelCheckout: func(ctx context.Context) error {
			_, err := s.CancelCheckout(ctx, couponkit.OrderRequest{OrderID: open.Order.ID, CustomerID: ann.ID})
			return err
		},
		couponkit.OpCancelExchange: func(ctx context.Context) error { return s.CancelExchange(ctx, ann.ID, held.ExchangeID) },
		couponkit.OpCreate: func(ctx context.Context) error {
			d := tenOff()
			d.Code = "NEW"
			_, err := s.Create(ctx, d)
			return err
		},
		couponkit.OpUpdate: func(ctx context.Context) error {
			_, err := s.Update(ctx, c.ID, coupon.Patch{Name: coupon.Set("Renamed")})
			return err
		},
		couponkit.OpSetActive: func(ctx context.Context) error { _, err := s.SetActive(ctx, c.ID, false); return err },
		couponkit.OpDelete:    func(ctx context.Context) error { return s.Delete(ctx, c.ID) },
		couponkit.OpOpenSession: func(ctx context.Context) error {
			_, err := s.OpenSession(ctx, open.Order.ID, couponkit.SessionOptions{})
			return err
		},
		couponkit.OpReconcile: func(ctx context.Context) error {
			_, err := s.Reconcile(ctx, couponkit.ReconcileOptions{})
			return err
		},
	} {
		before, err := w.Journal(t.Context(), 0, store.MaxJournalLimit)
		require.NoError(t, err)
		calls, points := len(w.fake.Calls()), w.ledger.Balance(ann.ID)
		require.ErrorIs(t, call(t.Context()), couponkit.ErrInTransaction, op)
		require.Nil(t, coupon.RejectionsOf(call(t.Context())), op)
		after, err := w.Journal(t.Context(), 0, store.MaxJournalLimit)
		require.NoError(t, err)
		require.Len(t, after, len(before), op)
		require.Len(t, w.fake.Calls(), calls, op)
		require.Equal(t, points, w.ledger.Balance(ann.ID), op)
		last := w.attempts[len(w.attempts)-1]
		require.Equal(t, op, last.Operation)
		require.ErrorIs(t, last.Err, couponkit.ErrInTransaction)
	}
	_, err := s.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{CheckoutRequest: w.request(""), Mode: couponkit.SubscriptionLink})
	require.ErrorIs(t, err, couponkit.ErrInTransaction)
}

// Payments are recorded, orders are swept, and what the host returns itself is recorded, in a
// transaction of the host too.
func TestWhatAHostsTransactionMayDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	paid, swept, sold := w.checkout(t, w.request("TEN")), w.checkout(t, w.request("")), w.sold(t)
	s := w.within(t)
	o, err := s.HandleEvent(t.Context(), w.event(paid, processor.Completed, processor.Paid))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, o.Order.State)
	refund := couponkit.RefundRequest{OrderID: sold.ID, Key: "cash", Returns: onePhone, Elsewhere: true}
	cash, err := s.Refund(t.Context(), refund)
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentElsewhere, cash.Refund.Repayment.State)
	refreshed, err := s.Refresh(t.Context(), couponkit.OrderRequest{OrderID: swept.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderOpen, refreshed.Order.State)
	drifts, err := s.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: true})
	require.NoError(t, err)
	require.Empty(t, drifts)
	_, err = s.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: bob})
	require.NoError(t, err)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := s.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, report.Cancelled, 1)

	none, err := couponkit.New(inHost{w.store}, couponkit.WithProcessor(struct{ processor.Processor }{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	refund.Key, refund.Elsewhere = "always elsewhere", false
	_, err = none.Refund(t.Context(), refund)
	require.NoError(t, err, "the processor makes no refunds")
}

// Points go back after the commit: a rollback would forget that they did, and the customer could
// use the exchange once more.
func TestPointsGoBackAfterTheCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exchange(t, w.create(t, forPoints()))
	spent := w.ledger.Balance(ann.ID)
	got := w.checkout(t, w.request("TEN"))
	s := w.within(t)
	o, err := s.HandleEvent(t.Context(), w.event(got, processor.Expired, processor.Unpaid))
	require.NoError(t, err)
	require.Equal(t, redemption.PointsRefundDue, useOf(t, o.Uses).PointsState)
	report, err := s.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, report.IsZero())
	require.Equal(t, spent, w.ledger.Balance(ann.ID))
	report, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, report.Refunded)
	require.EqualValues(t, 100, w.ledger.Balance(ann.ID))
}

// The key of a repayment is made from the order and from the host's key: a record of the refund that
// was lost does not return the money again.
func TestARefundThatWasForgottenReturnsTheMoneyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	before, err := w.store.Order(t.Context(), store.OrderKey{ID: o.ID})
	require.NoError(t, err)
	first := w.refund(t, o, "one", onePhone)

	copied := newWorld(t) // a copy of the database from before the refund
	copied.fake, copied.now = w.fake, w.now.Add(time.Hour)
	copied.Service, err = couponkit.New(copied.store, couponkit.WithProcessor(copied.fake), couponkit.WithClock(clockOf(copied)))
	require.NoError(t, err)
	open := before.Order
	open.State, open.SessionID, open.SessionURL, open.UpdatedAt, open.Version = redemption.OrderOpen, "", "", time.Time{}, 0
	_, err = copied.store.Reserve(t.Context(), store.Reservation{Order: open})
	require.NoError(t, err)
	_, err = copied.store.Apply(t.Context(), store.Settlement{Event: redemption.Event{
		Kind: redemption.Paid, At: w.now, OrderID: o.ID, SessionID: o.SessionID,
	}})
	require.NoError(t, err)
	again := copied.refund(t, o, "one", onePhone)
	require.False(t, again.Replayed)
	require.Equal(t, first.Refund.ID, again.Refund.ID)
	require.Equal(t, first.Refund.Repayment, again.Refund.Repayment)
	require.Equal(t, int64(10_00), w.backAt(t, o))
	require.True(t, copied.refund(t, o, "one", onePhone).Replayed)
}

// The text of an error tells what was asked for, and nothing that is empty.
func TestErrorsOfRefundsNameTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	for want, r := range map[string]couponkit.RefundRequest{
		"refund order " + o.ID + ": invalid input: returns[0].quantity": {
			OrderID: o.ID, Key: "one", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 4}}},
		},
		"refund order ord_none: not found in the store": {OrderID: "ord_none", Key: "one", Returns: theRest},
	} {
		_, err := w.Refund(t.Context(), r)
		require.ErrorContains(t, err, want)
	}
}

// A payment that comes late takes the place of a first order. Only the coupon for first orders is
// over its limit.
func TestALatePaymentFlagsOnlyTheCouponForFirstOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, other := tenOff(), percentOff(10)
	first.FirstOrder, first.Group, other.Group = true, "welcome", "always"
	newcomers, everybody := w.create(t, first), w.create(t, other)
	r := w.request("TEN")
	r.Codes = []string{"TEN", "PERCENT"}
	late := w.checkout(t, r)
	_, err := w.HandleEvent(t.Context(), w.event(late, processor.Expired, processor.Unpaid))
	require.NoError(t, err)
	w.sold(t)
	o, err := w.HandleEvent(t.Context(), w.event(late, processor.Completed, processor.Paid))
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagOverLimit, o.Flag)
	over := map[string]bool{}
	for _, u := range o.Uses {
		over[u.CouponID] = u.OverLimit
	}
	require.Equal(t, map[string]bool{newcomers.ID: true, everybody.ID: false}, over)
}
