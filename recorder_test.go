package couponkit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// bookkeeper is a host with orders of its own, which only its recorder changes.
type bookkeeper struct {
	*world
	orders   map[string]redemption.OrderState
	payments []couponkit.Payment
	fails    error
}

func newBookkeeper(t *testing.T) *bookkeeper {
	t.Helper()
	b := &bookkeeper{orders: map[string]redemption.OrderState{}}
	b.world = newWorld(t, couponkit.WithRecorder(b.record))
	return b
}

func (b *bookkeeper) record(ctx context.Context, p couponkit.Payment) error {
	if b.fails != nil {
		return b.fails
	}
	o, err := b.In(b.store).Record(ctx, p)
	if err != nil {
		return err
	}
	b.payments = append(b.payments, p)
	b.apply(o)
	return nil
}

// apply is how the host changes its own orders.
func (b *bookkeeper) apply(o couponkit.Outcome) {
	for _, x := range append(o.Ended, o.Order) {
		if x.ID != "" {
			b.orders[x.ID] = x.State
		}
	}
}

// agrees requires that the host's orders are in the states in which the store has them.
func (b *bookkeeper) agrees(t *testing.T, want map[string]redemption.OrderState) {
	t.Helper()
	for id, state := range want {
		require.Equal(t, []redemption.OrderState{state, state}, []redemption.OrderState{b.orders[id], b.order(t, id).State}, "%s at the host, and in the store", id)
	}
}

// TestEveryFactGoesThroughTheRecorder: webhooks, sweeps, cancellations, refreshes and repayments.
func TestEveryFactGoesThroughTheRecorder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*testing.T, *bookkeeper, couponkit.Checkout)
		want    redemption.OrderState
		last    couponkit.PaymentStatus
	}{
		"a webhook event of a payment": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			require.NoError(t, b.fake.Pay(c.Session.ID))
			require.Equal(t, redemption.OrderPaid, b.deliver(t)[0].Order.State)
		}, redemption.OrderPaid, couponkit.PaymentPaid},
		"a webhook event of a delayed payment": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			require.NoError(t, b.fake.PayLater(c.Session.ID))
			b.deliver(t)
		}, redemption.OrderAwaitingPayment, couponkit.PaymentPending},
		"a sweep": {func(t *testing.T, b *bookkeeper, _ couponkit.Checkout) {
			t.Helper()
			b.pass(48 * time.Hour)
			_, err := b.Sweep(t.Context(), 0)
			require.NoError(t, err)
		}, redemption.OrderCancelled, couponkit.PaymentEnded},
		"a cancellation": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			_, err := b.CancelCheckout(t.Context(), annCancels(c.Order.ID))
			require.NoError(t, err)
		}, redemption.OrderCancelled, couponkit.PaymentEnded},
		"a refresh": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			require.NoError(t, b.fake.Pay(c.Session.ID))
			_, err := b.Refresh(t.Context(), annCancels(c.Order.ID))
			require.NoError(t, err)
		}, redemption.OrderPaid, couponkit.PaymentPaid},
		"a refund": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			require.NoError(t, b.fake.Pay(c.Session.ID))
			b.deliver(t)
			before := len(b.payments)
			_, err := b.Refund(t.Context(), couponkit.RefundRequest{OrderID: c.Order.ID, Key: "k", Returns: pricing.Returns{All: true}})
			require.NoError(t, err)
			require.Len(t, b.payments[before:], 1)
			require.Equal(t, redemption.RepaymentSucceeded, b.payments[before].Repayments[0].State)
		}, redemption.OrderRefunded, couponkit.PaymentPaid},
		"a repayment that the processor reports": {func(t *testing.T, b *bookkeeper, c couponkit.Checkout) {
			t.Helper()
			require.NoError(t, b.fake.Pay(c.Session.ID))
			b.deliver(t)
			_, err := b.In(b.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: c.Order.ID, Key: "k", Returns: pricing.Returns{
				Lines: []pricing.LineReturn{{Line: 0, Whole: true}, {Line: 1, Whole: true}},
			}})
			require.NoError(t, err)
			require.NoError(t, b.RunDue(t.Context(), c.Order.ID))
			require.NotEmpty(t, b.payments[len(b.payments)-1].Repayments)
			require.Equal(t, redemption.RepaymentSucceeded, b.order(t, c.Order.ID).Refunds[0].Repayment.State)
		}, redemption.OrderRefunded, couponkit.PaymentPaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			b.create(t, tenOff())
			c := b.checkout(t, b.request("TEN"))
			test.happens(t, b, c)
			b.agrees(t, map[string]redemption.OrderState{c.Order.ID: test.want})
			require.Equal(t, test.last, b.payments[len(b.payments)-1].Status)
		})
	}
}

// TestTheRecorderHearsOfACancelledExchange: the order with the exchange ends, or the customer was faster and has paid it.
func TestTheRecorderHearsOfACancelledExchange(t *testing.T) {
	t.Parallel()
	for want, faster := range map[redemption.OrderState]bool{redemption.OrderCancelled: false, redemption.OrderPaid: true} { //nolint:exhaustive // what may become of it
		b := newBookkeeper(t)
		d := tenOff()
		d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 40
		bought, err := b.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: b.create(t, d).ID, Customer: ann})
		require.NoError(t, err)
		c := b.checkout(t, b.request("TEN"))
		if faster {
			require.NoError(t, b.fake.Pay(c.Session.ID))
		}
		err = b.CancelExchange(t.Context(), ann.ID, bought.ExchangeID)
		require.Equal(t, faster, errors.Is(err, redemption.ErrIllegal), err)
		b.agrees(t, map[string]redemption.OrderState{c.Order.ID: want})
	}
}

// TestTheRecorderHearsOfOtherOrders that a payment has ended, and of payments of orders that nobody knows.
func TestTheRecorderHearsOfOtherOrders(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	b.create(t, d)
	first := b.checkout(t, b.again("first"))
	b.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := b.Checkout(t.Context(), b.again("second"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	second, err := b.orderByKey("second")
	require.NoError(t, err)
	require.NoError(t, b.fake.Pay(first.Session.ID))
	require.NoError(t, b.RunDue(t.Context(), second.ID))
	b.agrees(t, map[string]redemption.OrderState{first.Order.ID: redemption.OrderPaid, second.ID: redemption.OrderCancelled})
	require.Empty(t, b.payable())

	require.NoError(t, b.handle(t.Context(), processor.Event{
		ID: "evt_lost", Type: processor.Completed, SessionID: "cs_lost", PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: 5_00,
		Metadata: map[string]string{processor.MetadataOrderID: "ord_lost"}, CreatedAt: b.now,
	}))
	b.agrees(t, map[string]redemption.OrderState{"ord_lost": redemption.OrderPaid})
}

// TestARecorderThatFails: its error is the service's, nothing is recorded, and the fact comes again.
func TestARecorderThatFails(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	ten := b.create(t, tenOff())
	c := b.checkout(t, b.request("TEN"))
	require.NoError(t, b.fake.Pay(c.Session.ID))
	b.fails = errors.New("the host's database is down")
	_, err := b.Refresh(t.Context(), annCancels(c.Order.ID))
	require.ErrorIs(t, err, b.fails)
	b.held(t, ten.ID, 0, 1)
	b.fails = nil
	b.deliver(t)
	b.agrees(t, map[string]redemption.OrderState{c.Order.ID: redemption.OrderPaid})

	forgetful := newWorld(t, couponkit.WithRecorder(func(context.Context, couponkit.Payment) error { return nil }))
	forgetful.create(t, tenOff())
	lost := forgetful.checkout(t, forgetful.request("TEN"))
	_, err = forgetful.CancelCheckout(t.Context(), annCancels(lost.Order.ID))
	require.ErrorContains(t, err, "the recorder has not recorded the payment")
	require.Equal(t, redemption.OrderOpen, forgetful.order(t, lost.Order.ID).State)
}

// TestRunDue does what is due for one order, and nothing a second time.
func TestRunDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.ErrorIs(t, w.RunDue(t.Context(), "ord_none"), store.ErrNotFound, "an order of nobody")
	require.ErrorIs(t, newTill(t).RunDue(t.Context(), "1"), couponkit.ErrNoProcessor)

	open := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.RunDue(t.Context(), open.Order.ID))
	require.Equal(t, redemption.OrderOpen, w.order(t, open.Order.ID).State, "nothing is due for an open order")

	_, err := w.In(w.store).Cancel(t.Context(), open.Order.ID)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderEnding, w.order(t, open.Order.ID).State)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore})
	require.ErrorIs(t, w.RunDue(t.Context(), open.Order.ID), couponkit.ErrUnavailable)
	w.held(t, c.ID, 0, 1)
	for range 2 {
		require.NoError(t, w.RunDue(t.Context(), open.Order.ID))
		require.Equal(t, redemption.OrderCancelled, w.order(t, open.Order.ID).State)
		w.held(t, c.ID, 0, 0)
	}
	require.Empty(t, w.payable())

	paid := w.checkout(t, w.request("TEN"))
	_, err = w.In(w.store).Cancel(t.Context(), paid.Order.ID)
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(paid.Session.ID), "the customer was faster")
	require.NoError(t, w.RunDue(t.Context(), paid.Order.ID))
	require.Equal(t, redemption.OrderPaid, w.order(t, paid.Order.ID).State)
	w.held(t, c.ID, 1, 0)
}

// TestPointsOfAReplacedOrder are due for the order that has replaced it, too.
func TestPointsOfAReplacedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, grouped(forPoints(), "TEN", "amount"))
	d := grouped(percentOff(10), "PERCENT", "percent")
	d.MaxUses = coupon.Set(1)
	w.create(t, d)
	w.exchange(t, c)
	reserve := func(id string, codes ...string) couponkit.Reserved {
		r, err := w.Reserve(t.Context(), couponkit.ReserveRequest{OrderID: id, Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones(), Codes: codes}})
		require.NoError(t, err)
		return r
	}
	reserve("1", "TEN", "PERCENT")
	one := reserve("2", "PERCENT")
	require.Equal(t, "1", one.Ended[0].ID)
	w.wantBalance(t, 40)
	due := w.due(t, "2")
	require.NotEmpty(t, due, "the points of order 1")
	require.NoError(t, w.RunDue(t.Context(), "2"))
	w.wantBalance(t, 100)
}

// TestRunDueTellsOfAFailure, also about an order that is paid.
func TestRunDueTellsOfAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	require.NoError(t, w.handle(t.Context(), processor.Event{
		ID: "evt_other", Type: processor.Completed, SessionID: "cs_other", PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	}))
	due := w.due(t, c.Order.ID)
	require.Len(t, due, 1)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore})
	require.ErrorIs(t, w.RunDue(t.Context(), c.Order.ID), couponkit.ErrUnavailable)
}

// TestBothSessionsArePaid: nothing is left to be ended.
func TestBothSessionsArePaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(c.Session.ID))
	require.NoError(t, w.handle(t.Context(), processor.Event{
		ID: "evt_other", Type: processor.Completed, SessionID: "cs_other", PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	}))
	w.pass(time.Hour)
	_, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	due := w.due(t, c.Order.ID)
	require.Empty(t, due)
}

// TestRunDueOfAWaitingOrder whose hold is over: the payment that it waits for is ended, and then the order.
func TestRunDueOfAWaitingOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	first := w.checkout(t, w.again("first"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("second"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	second, err := w.orderByKey("second")
	require.NoError(t, err)
	require.Equal(t, first.Order.ID, second.Awaits)
	w.pass(100 * time.Hour)
	require.NoError(t, w.RunDue(t.Context(), second.ID))
	require.Equal(t, redemption.OrderCancelled, w.order(t, second.ID).State)
	w.held(t, c.ID, 0, 0)
}

// dry records nothing, as a transaction that is rolled back.
type dry struct{ store.Store }

func (dry) Apply(_ context.Context, s store.Settlement) (store.Settled, error) {
	return store.Settled{Order: redemption.Order{ID: s.Event.OrderID, State: redemption.OrderPaid}, Changed: true}, nil
}

// TestARecorderWhoseRepetitionFails and that returns no error has recorded nothing.
func TestARecorderWhoseRepetitionFails(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, couponkit.WithRecorder(func(ctx context.Context, p couponkit.Payment) error {
		_, err := w.In(dry{w.store}).Record(ctx, p)
		require.NoError(t, err)
		_, err = w.In(closed{w.store}).Record(ctx, p)
		require.ErrorIs(t, err, store.ErrClosed)
		return nil
	}))
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	err := w.handle(t.Context(), processor.Event{
		ID: "evt_1", Type: processor.Completed, SessionID: c.Session.ID, PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	})
	require.ErrorContains(t, err, "has not recorded")
}

// due is what is due for an order.
func (w *world) due(t *testing.T, orderID string) (list []couponkit.Due) {
	t.Helper()
	for d, err := range w.Due(t.Context(), couponkit.DueOptions{OrderID: orderID}) {
		require.NoError(t, err)
		list = append(list, d)
	}
	return list
}
