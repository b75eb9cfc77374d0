package couponkit_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestAPaymentIsCountedOnce holds specification 6 and contract 5.4: redelivered and
// repeated events leave one redemption.
func TestAPaymentIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	require.NoError(t, w.fake.Repeat(got.Session.ID)) // the same fact, another event ID
	outcomes := w.deliver(t)
	require.Len(t, outcomes, 2)
	if !outcomes[0].Changed || outcomes[1].Changed {
		t.Errorf("changed: %t, then %t; want true, then false", outcomes[0].Changed, outcomes[1].Changed)
	}
	for _, d := range w.fake.Redeliveries() {
		e, err := w.fake.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		if o, err := w.HandleEvent(t.Context(), e); err != nil || o.Changed {
			t.Errorf("redelivery: %+v, %v", o, err)
		}
	}
	if after := w.get(t, c.ID); after.UsedCount != 1 || after.ReservedCount != 0 {
		t.Errorf("counts are %d used and %d reserved, want 1 and 0", after.UsedCount, after.ReservedCount)
	}
}

// TestCompletedWins holds contract 5.4: whichever of paid and expired comes first.
func TestCompletedWins(t *testing.T) {
	t.Parallel()
	for _, order := range [][]processor.EventType{
		{processor.Completed, processor.Expired}, {processor.Expired, processor.Completed},
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		got := w.checkout(t, w.request("TEN"))
		for _, kind := range order {
			_, err := w.HandleEvent(t.Context(), w.event(got, kind, processor.Paid))
			require.NoError(t, err)
		}
		if after := w.get(t, c.ID); after.UsedCount != 1 || after.ReservedCount != 0 {
			t.Errorf("%v: counts are %d used and %d reserved, want 1 and 0", order, after.UsedCount, after.ReservedCount)
		}
		if o := w.order(t, got.Order.ID); o.State != redemption.OrderPaid {
			t.Errorf("%v: the order is %s, want paid", order, o.State)
		}
	}
}

// event is what a processor says of the checkout's session.
func (w *world) event(c couponkit.Checkout, kind processor.EventType, status processor.PaymentStatus) processor.Event {
	return processor.Event{
		ID: "evt", Type: kind, SessionID: c.Session.ID, PaymentStatus: status,
		Currency: c.Order.Quote.Currency, Total: c.Order.Quote.Total, CreatedAt: w.now,
		Metadata: map[string]string{
			processor.MetadataOrderID: c.Order.ID, processor.MetadataCouponID: couponOf(c.Order), processor.MetadataCustomerID: c.Order.CustomerID,
		},
	}
}

func TestDelayedPayments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		end       func(w *world, id string) error
		wantUsed  int64
		wantOrder redemption.OrderState
	}{
		"arrives": {func(w *world, id string) error { return w.fake.PaymentArrives(id) }, 1, redemption.OrderPaid},
		"fails":   {func(w *world, id string) error { return w.fake.PaymentFails(id) }, 0, redemption.OrderCancelled},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, tenOff())
			got := w.checkout(t, w.request("TEN"))
			require.NoError(t, w.fake.PayLater(got.Session.ID))
			w.deliver(t)
			if o := w.order(t, got.Order.ID); o.State != redemption.OrderAwaitingPayment {
				t.Errorf("the order is %s, want awaiting_payment", o.State)
			}
			w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
			_, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			if held := w.get(t, c.ID); held.ReservedCount != 1 || held.UsedCount != 0 {
				t.Errorf("while it waits: %d used and %d reserved, want 0 and 1", held.UsedCount, held.ReservedCount)
			}
			require.NoError(t, tc.end(w, got.Session.ID))
			w.deliver(t)
			after := w.get(t, c.ID)
			if o := w.order(t, got.Order.ID); after.UsedCount != tc.wantUsed || after.ReservedCount != 0 || o.State != tc.wantOrder {
				t.Errorf("at the end: %d used, %d reserved, order %s", after.UsedCount, after.ReservedCount, o.State)
			}
		})
	}
}

// TestAPaymentOfALostOrderCounts: the order is in another copy of the store. What the session
// says of coupon and customer is counted, and the customer's order too, once.
func TestAPaymentOfALostOrderCounts(t *testing.T) {
	t.Parallel()
	lost, w := newWorld(t), newWorld(t)
	c := w.create(t, tenOff())
	lost.create(t, tenOff())
	e := lost.event(lost.checkout(t, lost.request("TEN")), processor.Completed, processor.Paid)
	e.Metadata[processor.MetadataCouponID] = c.ID
	for _, changed := range []bool{true, false} {
		o, err := w.HandleEvent(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, []any{changed, redemption.OrderPaid, redemption.FromPayment}, []any{o.Changed, o.Order.State, o.Uses[0].Origin})
		counts, err := w.store.Counts(t.Context(), []string{
			eligibility.CouponUses(c.ID), eligibility.CustomerUses(c.ID, ann.ID), eligibility.CustomerOrders(ann.ID),
		})
		require.NoError(t, err)
		require.Equal(t, []eligibility.Count{{Completed: 1}, {Completed: 1}, {Completed: 1}}, counts)
	}
}

// TestAPaymentIsNeverDropped holds contract 5.6: a payment whose place is gone is
// recorded and flagged.
func TestAPaymentIsNeverDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	late := w.checkout(t, w.request("TEN"))
	_, err := w.HandleEvent(t.Context(), w.event(late, processor.Expired, processor.Unpaid))
	require.NoError(t, err)
	r := w.request("TEN")
	r.Customer = bob
	w.checkout(t, r)
	o, err := w.HandleEvent(t.Context(), w.event(late, processor.Completed, processor.Paid))
	require.NoError(t, err)
	if !o.Uses[0].OverLimit || o.Uses[0].State != redemption.Completed || o.Flag != couponkit.FlagOverLimit || o.Order.State != redemption.OrderPaid {
		t.Errorf("outcome is %+v", o)
	}
	if after := w.get(t, c.ID); after.UsedCount != 1 || after.ReservedCount != 1 {
		t.Errorf("counts are %d used and %d reserved, want 1 and 1", after.UsedCount, after.ReservedCount)
	}
	if last := w.attempts[len(w.attempts)-1]; last.Flag != couponkit.FlagOverLimit || last.OrderID != late.Order.ID {
		t.Errorf("the observer was told %+v", last)
	}
}

// TestAPaymentOfAnotherAmountIsFlagged: it counts, and somebody is told.
func TestAPaymentOfAnotherAmountIsFlagged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	e := w.event(got, processor.Completed, processor.Paid)
	e.Total--
	o, err := w.HandleEvent(t.Context(), e)
	require.NoError(t, err)
	if o.Flag != couponkit.FlagAmountMismatch || o.Uses[0].State != redemption.Completed {
		t.Errorf("outcome is %+v", o)
	}
	late := w.event(got, processor.Completed, processor.Unpaid)
	late.Total--
	for name, next := range map[string]processor.Event{"told again": e, "an event that was overtaken": late} {
		o, err := w.HandleEvent(t.Context(), next)
		require.NoError(t, err)
		if o.Flag != couponkit.FlagAmountMismatch || o.Order.State != redemption.OrderPaid || o.Changed {
			t.Errorf("%s: outcome is %+v", name, o)
		}
	}
}

// TestAPaymentOfWhichNothingIsKnown is recorded as what its session says that it is, and the
// observer is told of that.
func TestAPaymentOfWhichNothingIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	o, err := w.HandleEvent(t.Context(), processor.Event{
		ID: "evt", Type: processor.Completed, SessionID: "cs_unknown", PaymentStatus: processor.Paid, CreatedAt: w.now,
		Metadata: map[string]string{
			processor.MetadataCouponID: c.ID, processor.MetadataCustomerID: bob.ID,
		},
	})
	require.NoError(t, err)
	last := w.attempts[len(w.attempts)-1]
	want := []string{c.ID, bob.ID, "cs_unknown"}
	if diff := cmp.Diff(want, []string{o.Uses[0].CouponID, o.Uses[0].CustomerID, o.Order.SessionID}); diff != "" {
		t.Errorf("what is recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, []string{last.CouponID, last.CustomerID, last.SessionID}); diff != "" {
		t.Errorf("what the observer is told (-want +got):\n%s", diff)
	}
	require.Equal(t, redemption.Completed, o.Uses[0].State)
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)
	paid := w.checkout(t, w.request(""))
	_, err = w.HandleEvent(t.Context(), w.event(paid, processor.Completed, processor.Paid))
	require.NoError(t, err)
	if last = w.attempts[len(w.attempts)-1]; last.CustomerID != ann.ID || last.CouponID != "" {
		t.Errorf("of an order without a coupon the observer is told %+v", last)
	}
}

// TestAPaymentOfASessionInAnotherCurrencyIsFlagged: the same number of another
// currency is another amount.
func TestAPaymentOfASessionInAnotherCurrencyIsFlagged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	e := w.event(w.checkout(t, w.request("TEN")), processor.Completed, processor.Paid)
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	e.Currency = usd
	o, err := w.HandleEvent(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagAmountMismatch, o.Flag)
}

// TestAPaymentAfterARefundIsFlagged: from the moment in which the refund is due, the
// ledger may have made it, whether it has answered or not.
func TestAPaymentAfterARefundIsFlagged(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		w := newWorld(t)
		w.exchange(t, w.create(t, forPoints()))
		got := w.checkout(t, w.request("TEN"))
		if down {
			w.behind((&refusal{call: "Refund", err: errDown}).gate)
		}
		require.NoError(t, w.handle(t.Context(), w.event(got, processor.Expired, processor.Unpaid)))
		o, err := w.HandleEvent(t.Context(), w.event(got, processor.Completed, processor.Paid))
		require.NoError(t, err)
		if o.Flag != couponkit.FlagPointsRefunded || (o.Uses[0].PointsState == redemption.PointsRefundDue) != down {
			t.Errorf("ledger down: %t; outcome is %+v", down, o)
		}
	}
}

// TestEventsOfOthersAreIgnored: sessions that are not ours, and events without one.
func TestEventsOfOthersAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	for _, e := range []processor.Event{
		{},
		{Type: processor.Ignored, SessionID: "sess"},
		{Type: processor.Completed, PaymentStatus: processor.Paid},
		{Type: processor.Completed, SessionID: "theirs", PaymentStatus: processor.Paid, Total: 1, Currency: pricing.EUR()},
		{Type: processor.Expired, SessionID: "theirs"},
	} {
		if o, err := w.HandleEvent(t.Context(), e); err != nil || o.Changed || !o.Order.IsZero() || o.Uses != nil {
			t.Errorf("%+v: %+v, %v", e, o, err)
		}
	}
}

// TestAStoreThatIsDownMakesTheProcessorDeliverAgain: an error, and the event counts
// when it comes again.
func TestAStoreThatIsDownMakesTheProcessorDeliverAgain(t *testing.T) {
	t.Parallel()
	w, blow := newCrashingWorld(t)
	c := w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	handler := fakeprocessor.Serve(w.fake.Handler(w.handle))
	blow.arm(0, false)
	require.Error(t, w.fake.Deliver(t.Context(), handler))
	blow.restart()
	require.NoError(t, w.fake.Deliver(t.Context(), handler))
	if after := w.get(t, c.ID); after.UsedCount != 1 {
		t.Errorf("%d uses, want 1", after.UsedCount)
	}
}

func TestSweepReleasesWhatHasLapsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	plain := w.request("")
	plain.Customer = bob
	without := w.checkout(t, plain)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace - time.Microsecond)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if !report.IsZero() {
		t.Errorf("an instant too early: %+v", report)
	}
	w.pass(time.Microsecond)
	report, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if diff := cmp.Diff(swept{Cancelled: 2}, counted(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if held := w.get(t, c.ID); held.ReservedCount != 0 {
		t.Errorf("%d reservations, want 0", held.ReservedCount)
	}
	for _, id := range []string{got.Order.ID, without.Order.ID} {
		if o := w.order(t, id); o.State != redemption.OrderCancelled {
			t.Errorf("order %s is %s, want cancelled", id, o.State)
		}
	}
}

// TestSweepAsksTheProcessorFirst holds contract 5.8: a lapsed reservation whose
// session was paid is completed.
func TestSweepAsksTheProcessorFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID)) // and the event is lost
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore, Times: -1})
	report, err := w.Sweep(t.Context(), 0)
	if !errors.Is(err, couponkit.ErrUnavailable) || report.Failed != 1 || w.get(t, c.ID).ReservedCount != 1 {
		t.Errorf("while the processor is down: %+v, %v", report, err)
	}
	down.Remove()
	report, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if after := w.get(t, c.ID); len(report.Paid) != 1 || after.UsedCount != 1 || after.ReservedCount != 0 {
		t.Errorf("report is %+v, %d used and %d reserved", report, after.UsedCount, after.ReservedCount)
	}
}

// TestSweepEndsAnOpenSession: a session that the processor has not ended cannot be
// paid once its place is free.
func TestSweepEndsAnOpenSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now.Add(2 * time.Hour) }))
	require.NoError(t, err) // a node whose clock is ahead of the processor's
	report, err := service.Sweep(t.Context(), 0)
	require.NoError(t, err)
	session, err := w.fake.Session(t.Context(), got.Session.ID)
	if len(report.Cancelled) != 1 || err != nil || session.Status != processor.SessionExpired {
		t.Errorf("report is %+v, session %+v, %v", report, session, err)
	}
}

// TestAPaymentOfASessionThatWasLeftCounts: another order has replaced the first one, and the
// session of the first one is paid all the same. Both payments are recorded, and the second
// payment is flagged.
func TestAPaymentOfASessionThatWasLeftCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	second := w.checkout(t, w.request("TEN")) // replaces the first order
	for range 2 {
		for _, paid := range []couponkit.Checkout{first, second} {
			_, err := w.HandleEvent(t.Context(), w.event(paid, processor.Completed, processor.Paid))
			require.NoError(t, err)
		}
	}
	page, err := w.Uses(t.Context(), store.UseList{CouponID: c.ID, State: redemption.Completed})
	require.NoError(t, err)
	if page.Total != 2 || w.get(t, c.ID).UsedCount != 2 {
		t.Errorf("%d redemptions and a count of %d, want 2", page.Total, w.get(t, c.ID).UsedCount)
	}
	for _, u := range page.Items {
		if wantOver := u.OrderID == second.Order.ID; u.OverLimit != wantOver {
			t.Errorf("the use of order %s is over the limit: %t", u.OrderID, u.OverLimit)
		}
	}
}

// TestAnUnpaidSessionThatIsToldTwice: the same event says nothing new, however long after. An event without a time,
// or from a clock that is ahead, counts from now.
func TestAnUnpaidSessionThatIsToldTwice(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"TEN", ""} {
		for name, created := range map[string]func(now time.Time) time.Time{
			"now":     func(now time.Time) time.Time { return now },
			"unknown": func(time.Time) time.Time { return time.Time{} },
			"ahead":   func(now time.Time) time.Time { return now.Add(time.Hour) },
		} {
			w := newWorld(t)
			w.create(t, tenOff())
			e := w.event(w.checkout(t, w.request(code)), processor.Completed, processor.Unpaid)
			e.CreatedAt = created(w.now)
			first, err := w.HandleEvent(t.Context(), e)
			require.NoError(t, err)
			require.True(t, first.Changed)
			require.Equal(t, w.now.Add(couponkit.DefaultPaymentWait), first.Order.Deadline, name)
			w.pass(time.Hour)
			again, err := w.HandleEvent(t.Context(), e)
			require.NoError(t, err)
			require.False(t, again.Changed, "code %q, created %s", code, name)
			require.Equal(t, first.Order, again.Order)
		}
	}
}

// TestWebhookHandsOutcomesOn: of events that concern something of ours; what fails comes again.
func TestWebhookHandsOutcomesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.logged(t)
	w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	paid := w.event(got, processor.Completed, processor.Paid)

	var outcomes []couponkit.Outcome
	answer := errDown
	handle := w.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		outcomes = append(outcomes, o)
		return answer
	})
	require.ErrorIs(t, handle(t.Context(), paid), errDown)
	answer = nil
	require.NoError(t, handle(t.Context(), paid))
	require.Len(t, outcomes, 2)
	for i, o := range outcomes {
		require.Equal(t, redemption.OrderPaid, o.Order.State)
		require.Equal(t, got.Order.ID, o.Order.ID)
		require.Equal(t, i == 0, o.Changed)
	}
	for _, nothing := range []processor.Event{
		{Type: processor.Ignored, SessionID: "cs_other"}, {Type: processor.Expired, SessionID: "cs_other", PaymentStatus: processor.Unpaid},
	} {
		require.NoError(t, handle(t.Context(), nothing))
	}
	require.Len(t, outcomes, 2, "events of others")
	require.NoError(t, w.Webhook(nil)(t.Context(), paid))

	w.behind((&refusal{call: "Apply paid", err: errDown}).gate, couponkit.WithClock(clockOf(w)), couponkit.WithLogger(slog.New(log)))
	handle = w.Webhook(func(context.Context, couponkit.Outcome) error { t.Error("an outcome of a failure"); return nil })
	require.ErrorIs(t, handle(t.Context(), paid), errDown)
	require.Equal(t, []string{"an event could not be handled and will come again", "an event could not be handled and will come again"}, log.lines)
}
