package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestRefresh: the customer is back before the webhook. One call settles the order as the event
// does, and the event then changes nothing.
func TestRefresh(t *testing.T) {
	t.Parallel()
	nothing := func(*fakeprocessor.Processor, string) error { return nil }
	expire := func(p *fakeprocessor.Processor, id string) error {
		_, err := p.ExpireSession(t.Context(), id)
		return err
	}
	fails := func(p *fakeprocessor.Processor, id string) error {
		return errors.Join(p.PayLater(id), p.PaymentFails(id))
	}
	arrives := func(p *fakeprocessor.Processor, id string) error {
		return errors.Join(p.PayLater(id), p.PaymentArrives(id))
	}
	for name, test := range map[string]struct {
		happens        func(*fakeprocessor.Processor, string) error
		state          redemption.OrderState
		used, reserved int64
	}{
		"nothing":    {nothing, redemption.OrderOpen, 0, 1},
		"paid":       {(*fakeprocessor.Processor).Pay, redemption.OrderPaid, 1, 0},
		"on its way": {(*fakeprocessor.Processor).PayLater, redemption.OrderAwaitingPayment, 0, 1},
		"arrived":    {arrives, redemption.OrderPaid, 1, 0},
		"failed":     {fails, redemption.OrderCancelled, 0, 0},
		"expired":    {expire, redemption.OrderCancelled, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, lastUse())
			first := w.checkout(t, w.again("cart"))
			require.NoError(t, test.happens(w.fake, first.Session.ID))
			got, err := w.Refresh(t.Context(), couponkit.OrderRequest{Key: "cart", CustomerID: ann.ID})
			require.NoError(t, err)
			require.Equal(t, test.state, got.Order.State)
			require.Equal(t, test.state != redemption.OrderOpen, got.Changed)
			require.Equal(t, couponkit.FlagNone, got.Flag)
			w.held(t, c.ID, test.used, test.reserved)
			again, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
			require.NoError(t, err)
			got.Changed = false
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("the second call (-first +second):\n%s", diff)
			}
			for _, o := range w.deliver(t) {
				require.False(t, o.Changed)
			}
			require.Equal(t, test.state, w.order(t, first.Order.ID).State)
			w.held(t, c.ID, test.used, test.reserved)
		})
	}
}

// TestRefreshIsObserved: the call, and the step in which it has learned of a payment.
func TestRefreshIsObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(first.Session.ID))
	w.attempts = nil
	_, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	want := couponkit.Attempt{CouponID: c.ID, CustomerID: ann.ID, OrderID: first.Order.ID, SessionID: first.Session.ID, At: w.now}
	settle, refresh := want, want
	settle.Operation, refresh.Operation = couponkit.OpSettle, couponkit.OpRefresh
	require.Equal(t, []couponkit.Attempt{settle, refresh}, w.attempts)
}

// TestRefreshAfterTheWebhook: the event was first, and nothing changes. The payment is flagged as
// the event has flagged it.
func TestRefreshAfterTheWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(first.Session.ID))
	told := w.deliver(t)[0]
	w.fake.ForgetCalls()
	got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	told.Changed = false
	require.Empty(t, cmp.Diff(told, got))
	w.held(t, c.ID, 1, 0)

	service, err := couponkit.New(w.store, couponkit.WithProcessor(overcharging{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	got, err = service.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagAmountMismatch, got.Flag)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.Refuse, Err: processor.ErrNotFound})
	got, err = w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, got.Order.State)
	require.Equal(t, couponkit.FlagNone, got.Flag, "a session that is forgotten has no amount")
}

// TestRefreshBesideTheWebhook: both at once count the payment once, and one of them tells.
func TestRefreshBesideTheWebhook(t *testing.T) {
	t.Parallel()
	for round := range 30 {
		w := newWorld(t)
		service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		c := w.create(t, lastUse())
		first, err := service.Checkout(t.Context(), w.request("TEN"))
		require.NoError(t, err)
		require.NoError(t, w.fake.Pay(first.Session.ID))
		var group sync.WaitGroup
		outcomes := make([]couponkit.Outcome, 3)
		for i := range outcomes {
			group.Go(func() {
				if i == round%3 {
					outcomes[i], _ = service.HandleEvent(t.Context(), w.event(first, processor.Completed, processor.Paid))
				} else {
					outcomes[i], _ = service.Refresh(t.Context(), annCancels(first.Order.ID))
				}
			})
		}
		group.Wait()
		changed := 0
		for _, o := range outcomes {
			require.Equal(t, redemption.OrderPaid, o.Order.State)
			require.Equal(t, couponkit.FlagNone, o.Flag)
			if o.Changed {
				changed++
			}
		}
		require.Equal(t, 1, changed)
		w.held(t, c.ID, 1, 0)
	}
}

// TestRefreshWithoutARequest: what the processor has told before, and what it cannot know.
func TestRefreshWithoutARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("no session"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	other := w.request("TEN")
	other.Key, other.Customer = "ended", bob
	ended := w.checkout(t, other)
	_, err = w.fake.ExpireSession(t.Context(), ended.Session.ID)
	require.NoError(t, err)
	w.deliver(t)
	for key, state := range map[string]redemption.OrderState{"no session": redemption.OrderOpen, "ended": redemption.OrderCancelled} {
		customer := map[string]string{"no session": ann.ID, "ended": bob.ID}[key]
		before, err := w.store.Order(t.Context(), store.OrderKey{CustomerID: customer, Key: key})
		require.NoError(t, err)
		w.fake.ForgetCalls()
		got, err := w.Refresh(t.Context(), couponkit.OrderRequest{Key: key, CustomerID: customer})
		require.NoError(t, err)
		require.Equal(t, state, got.Order.State, key)
		require.Empty(t, cmp.Diff(before.Order, got.Order))
		require.False(t, got.Changed)
		require.Empty(t, w.fake.Calls(), key)
	}
}

// TestRefreshWhileTheProcessorIsDown: the stored order comes with the error, and stays as it is.
func TestRefreshWhileTheProcessorIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, lastUse())
	first := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(first.Session.ID))
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostAfter, Times: -1})
	for range 2 {
		got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		require.Empty(t, cmp.Diff(couponkit.Outcome{Order: first.Order, Uses: first.Uses}, got))
	}
	w.held(t, c.ID, 0, 1)
	down.Remove()
	got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, got.Order.State)
}

// TestRefreshOfAForgottenSession: a session that the processor does not have cannot be paid any
// more. A payment that is on its way has the time that it always has.
func TestRefreshOfAForgottenSession(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, lastUse())
		first := w.checkout(t, w.request("TEN"))
		if waits {
			require.NoError(t, w.fake.PayLater(first.Session.ID))
			w.deliver(t)
		}
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.Refuse, Err: processor.ErrNotFound, Times: -1})
		got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err)
		if waits {
			require.Equal(t, redemption.OrderAwaitingPayment, got.Order.State)
			w.pass(couponkit.DefaultPaymentWait)
			report, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Len(t, report.Cancelled, 1)
		} else {
			require.Equal(t, redemption.OrderCancelled, got.Order.State)
		}
		w.held(t, c.ID, 0, 0)
		require.NoError(t, w.handle(t.Context(), w.event(first, processor.Completed, processor.Paid)))
		w.held(t, c.ID, 1, 0) // a payment is never dropped
	}
}

// TestRefreshKeepsTheDeadline of a payment that is on its way, however often it is called. After the deadline, it
// extends the deadline as a sweep does.
func TestRefreshKeepsTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.checkout(t, w.request(""))
	require.NoError(t, w.fake.PayLater(first.Session.ID))
	before, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	w.pass(couponkit.DefaultPaymentWait / 2)
	after, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, before.Order, after.Order)
	require.False(t, after.Changed)
	w.pass(couponkit.DefaultPaymentWait / 2)
	after, err = w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, w.now.Add(couponkit.DefaultPaymentWait), after.Order.Deadline)
	require.NoError(t, w.fake.PaymentArrives(first.Session.ID))
	after, err = w.Refresh(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, after.Order.State)
}

// TestRefreshOfAReplacedOrder: the customer has paid the session of the first order, which is
// cancelled because another order was to replace it. The payment counts, and nothing else of the
// customer can be paid.
func TestRefreshOfAReplacedOrder(t *testing.T) {
	t.Parallel()
	for how, finish := range map[string]func(*fakeprocessor.Processor, string) error{
		"paid": (*fakeprocessor.Processor).Pay, "to be paid later": (*fakeprocessor.Processor).PayLater, "open": nil,
	} {
		w, _, c, first := begun(t, lastUse())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
		_, err := w.Checkout(t.Context(), w.again("second"))
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err)
		require.Equal(t, redemption.OrderCancelled, got.Order.State)
		require.False(t, got.Changed)
		if finish == nil {
			second := w.checkout(t, w.again("second"))
			got, err = w.Refresh(t.Context(), annCancels(first.Order.ID))
			require.NoError(t, err)
			require.False(t, got.Changed)
			require.Equal(t, []string{second.Session.ID}, w.payable())
			continue
		}
		require.NoError(t, finish(w.fake, first.Session.ID))
		got, err = w.Refresh(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err)
		require.True(t, got.Changed)
		require.Empty(t, w.payable())
		w.finishAndSettle(t, how == "paid", true, first)
		w.held(t, c.ID, 1, 0)
		require.False(t, useOf(t, w.usesOfOrder(t, first.Order.ID)).OverLimit)
	}
}

// TestRefreshGoesOnAfterAnyFailure: a payment is never lost to a crash of the call.
func TestRefreshGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for calls := range 4 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d calls, after %t", calls, after), func(t *testing.T) {
				t.Parallel()
				w, blow, c, first := begun(t, forPoints())
				require.NoError(t, w.fake.Pay(first.Session.ID))
				blow.arm(calls, after)
				_, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
				if err != nil {
					require.ErrorIs(t, err, errCrash)
				}
				blow.restart()
				w.finishAndSettle(t, true, calls%2 == 0, first)
				w.held(t, c.ID, 1, 0)
				w.wantBalance(t, 40)
			})
		}
	}
}

// TestRefreshFlagsAPayment: the session charged another amount than the order.
func TestRefreshFlagsAPayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.checkout(t, w.request(""))
	require.NoError(t, w.fake.Pay(first.Session.ID))
	service, err := couponkit.New(w.store, couponkit.WithProcessor(overcharging{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	for range 2 {
		got, err := service.Refresh(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err)
		require.Equal(t, couponkit.FlagAmountMismatch, got.Flag)
	}
}

// overcharging is a processor whose sessions turn out to charge more than was asked.
type overcharging struct{ processor.Processor }

func (p overcharging) Session(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.Processor.Session(ctx, id)
	s.Total++
	return s, err
}

// TestWhoMayRefresh: an order is its customer's, unless the host asks for itself.
func TestWhoMayRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.checkout(t, w.request(""))
	for name, r := range map[string]couponkit.OrderRequest{
		"another customer": {OrderID: first.Order.ID, CustomerID: bob.ID},
		"an unknown order": annCancels("ord_none"),
		"an unknown key":   {Key: "none", CustomerID: ann.ID},
	} {
		_, err := w.Refresh(t.Context(), r)
		require.ErrorIs(t, err, store.ErrNotFound, name)
	}
	_, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: first.Order.ID})
	require.Equal(t, []string{"customerId"}, faultyFields(t, err))
	got, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: first.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, first.Order, got.Order)
}
