package couponkit_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// another makes and pays another session for what a checkout sells. Its metadata may be changed.
func (w *world) another(t *testing.T, of couponkit.Checkout, change func(metadata map[string]string)) processor.Session {
	t.Helper()
	r, err := w.fake.Request(of.Session.ID)
	require.NoError(t, err)
	r.Metadata = maps.Clone(r.Metadata)
	change(r.Metadata)
	r.Key = "another-" + r.Metadata[processor.MetadataOrderID]
	made, err := w.fake.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(made.ID))
	return made
}

// lost is the paid session of an order that the store does not have.
func (w *world) lost(t *testing.T, code string) processor.Session {
	t.Helper()
	of := w.checkout(t, w.request(code))
	_, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{OrderID: of.Order.ID, CustomerID: ann.ID})
	require.NoError(t, err)
	return w.another(t, of, func(metadata map[string]string) { metadata[processor.MetadataOrderID] = "ord_lost" })
}

// A payment whose order is lost is recorded under the ID that it names, with and without a coupon. It
// is told to the host, with a flag of its own.
func TestAPaymentOfALostOrderIsTold(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "TEN"} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		session := w.lost(t, code)
		outcomes := w.deliver(t)
		told := outcomes[len(outcomes)-1]
		require.Equal(t, []any{"ord_lost", redemption.OrderPaid, session.ID, ann.ID, couponkit.FlagUnknownOrder, true},
			[]any{told.Order.ID, told.Order.State, told.Order.SessionID, told.Order.CustomerID, told.Flag, told.Changed})
		require.Equal(t, session.Total, told.Order.Quote.Total)
		require.Equal(t, session.Total, told.Order.Paid())
		require.EqualValues(t, len(code)/3, w.get(t, c.ID).UsedCount)
		last := w.attempts[len(w.attempts)-1]
		require.Equal(t, []any{couponkit.OpEvent, "ord_lost", couponkit.FlagUnknownOrder}, []any{last.Operation, last.OrderID, last.Flag})

		require.NoError(t, w.fake.Repeat(session.ID))
		again := w.last(t)
		require.False(t, again.Changed)
		require.Equal(t, couponkit.FlagUnknownOrder, again.Flag)
		require.Equal(t, told.Order, again.Order)
		require.Equal(t, couponkit.FlagUnknownOrder, couponkit.FlagOf(store.Settled{Order: w.order(t, "ord_lost")}))
	}
}

// An order that is known from its payment alone is refunded up to what was paid, and its use comes
// back.
func TestALostOrderIsRefunded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	session := w.lost(t, "TEN")
	o := w.last(t).Order
	pieces := func(n int64) pricing.Returns {
		return pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: n}}}
	}
	for _, more := range []pricing.Returns{pieces(session.Total + 1), {Lines: []pricing.LineReturn{{Line: 1, Whole: true}}}, {}} {
		_, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "more", Returns: more})
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
	part := w.refund(t, o, "part", pieces(7_01))
	require.Equal(t, []any{redemption.OrderPartlyRefunded, int64(7_01)}, []any{part.Order.State, part.Refund.Repayment.Amount})
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)
	result := w.refund(t, o, "one", theRest)
	require.Equal(t, redemption.OrderRefunded, result.Order.State)
	require.Equal(t, session.Total-7_01, result.Refund.Repayment.Amount)
	require.Equal(t, session.Total, w.backAt(t, o))
	require.Zero(t, w.get(t, c.ID).UsedCount)
	_, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "two", Returns: theRest})
	require.Equal(t, []string{"all"}, faultyFields(t, err))
	w.deliver(t)
	require.Empty(t, w.order(t, o.ID).ExternalRefunds)
}

// What staff has returned of a lost order's payment is not returned again, whichever event comes first.
func TestALostOrderThatStaffHasRefunded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.lost(t, "")
	_, err := w.fake.RefundByStaff(session.ID, 5_00)
	require.NoError(t, err)
	o, err := w.HandleEvent(t.Context(), processor.Event{Type: processor.RefundChanged, PaymentID: session.ID})
	require.NoError(t, err)
	require.Equal(t, []any{"ord_lost", couponkit.FlagUnknownOrder, int64(5_00)}, []any{o.Order.ID, o.Flag, o.Order.Returned()})
	require.Equal(t, session.Total-5_00, w.refund(t, o.Order, "one", theRest).Refund.Repayment.Amount)
	require.Equal(t, session.Total, w.backAt(t, o.Order))
}

// A payment is recorded whatever its session says of the order, of the customer and of coupons.
func TestAPaymentThatNamesWhatNoStoreKeeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	long := strings.Repeat("x", redemption.MaxIDLength+1)
	for i, id := range []string{long, "a\x00b", "\xff"} {
		e := processor.Event{
			ID: "evt", Type: processor.Completed, SessionID: "cs_" + string(rune('a'+i)), PaymentStatus: processor.Paid,
			Currency: pricing.EUR(), Total: 5_00, CreatedAt: w.now,
			Metadata: map[string]string{
				processor.MetadataOrderID: id, processor.MetadataCustomerID: id, processor.MetadataCouponID: id, processor.MetadataCouponID + "2": c.ID,
			},
		}
		o, err := w.HandleEvent(t.Context(), e)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(o.Order.ID, redemption.OrderIDPrefix), o.Order.ID)
		require.Equal(t, []any{couponkit.FlagUnknownOrder, int64(5_00), "", c.ID}, []any{o.Flag, o.Order.Quote.Total, o.Order.CustomerID, useOf(t, o.Uses).CouponID})
		again, err := w.HandleEvent(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, o.Order, again.Order)
	}
}

// A second payment of an order is stored with the order and flagged. When it was returned, the flag
// ends.
func TestASecondPaymentIsStoredWithItsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	of := w.checkout(t, w.request("TEN"))
	w.pay(t, of)
	second := w.another(t, of, func(map[string]string) {})
	told := w.last(t)
	require.Equal(t, []any{of.Order.ID, couponkit.FlagPaidTwice, of.Session.ID, 1}, []any{told.Order.ID, told.Flag, told.Order.SessionID, len(told.Order.OtherPayments)})
	require.Equal(t, redemption.Payment{
		SessionID: second.ID, Charge: redemption.Charge{Currency: pricing.EUR(), Amount: second.Total}, At: w.now,
	}, told.Order.OtherPayments[0])
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount, "an order has one use")
	require.NoError(t, w.fake.Repeat(second.ID))
	require.False(t, w.last(t).Changed)
	refreshed, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: of.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagPaidTwice, refreshed.Flag)

	returned, err := w.fake.RefundByStaff(second.ID, second.Total-1)
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagPaidTwice, w.last(t).Flag, "a cent is left")
	require.NoError(t, w.fake.FailRefund(returned, "account closed"))
	require.Zero(t, w.last(t).Order.OtherPayments[0].Returned)
	_, err = w.fake.RefundByStaff(second.ID, second.Total)
	require.NoError(t, err)
	last := w.last(t)
	require.Equal(t, []any{couponkit.FlagNone, second.Total, int64(0)}, []any{last.Flag, last.Order.OtherPayments[0].Returned, last.Order.Returned()})
	require.Equal(t, of.Order.Quote.Total, w.refund(t, last.Order, "one", theRest).Refund.Repayment.Amount, "the first payment is whole")
}

// A payment in another session pays an order that was not paid. The session that the order had is
// ended. If it was paid all the same, that payment is kept, too.
func TestAPaymentInAnotherSessionPaysTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	of := w.checkout(t, w.request("TEN"))
	other := w.another(t, of, func(map[string]string) {})
	told := w.last(t)
	require.Equal(t, []any{of.Order.ID, redemption.OrderPaid, other.ID, couponkit.FlagPaidTwice}, []any{told.Order.ID, told.Order.State, told.Order.SessionID, told.Flag})
	require.Equal(t, of.Session.ID, told.Order.OtherPayments[0].InsteadOf)
	had, err := w.fake.Session(t.Context(), of.Session.ID)
	require.NoError(t, err)
	require.Equal(t, processor.SessionExpired, had.Status)
	w.deliver(t)
	require.Equal(t, redemption.OrderPaid, w.order(t, of.Order.ID).State)
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)

	both, err := w.HandleEvent(t.Context(), w.event(of, processor.Completed, processor.Paid))
	require.NoError(t, err)
	require.Len(t, both.Order.OtherPayments, 2)
	require.Equal(t, told.Order.Quote.Total, w.refund(t, told.Order, "one", theRest).Refund.Repayment.Amount)
	require.Equal(t, told.Order.Quote.Total, w.backAt(t, told.Order), "of the session that was paid first")
}

// An event that names an order or a coupon, but no session, comes again. It is not lost.
func TestAnEventOfAnOrderWithoutASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []processor.EventType{
		processor.Completed, processor.PaymentSucceeded, processor.PaymentFailed, processor.Expired, processor.RefundChanged, processor.DisputeChanged,
	} {
		for _, name := range []string{processor.MetadataOrderID, processor.MetadataCouponID} {
			_, err := w.HandleEvent(t.Context(), processor.Event{Type: kind, PaymentStatus: processor.Paid, Metadata: map[string]string{name: "ord_1"}})
			require.Equal(t, []string{"sessionId"}, faultyFields(t, err), kind)
		}
		o, err := w.HandleEvent(t.Context(), processor.Event{Type: kind, PaymentStatus: processor.Paid})
		require.NoError(t, err)
		require.True(t, o.Order.IsZero())
	}
	handler := w.Webhook(func(context.Context, couponkit.Outcome) error { t.Error("an outcome"); return nil })
	require.Error(t, handler(t.Context(), processor.Event{
		Type: processor.Completed, PaymentStatus: processor.Paid, Metadata: map[string]string{processor.MetadataOrderID: "ord_1"},
	}))
}

// A session that a second payment has superseded and that could not be ended is ended when the event
// comes again.
func TestASupersededSessionIsEndedWithTheRepeatedEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of := w.checkout(t, w.request(""))
	other := w.another(t, of, func(map[string]string) {})
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore, Times: -1})
	w.deliver(t)
	down.Remove()
	require.NoError(t, w.fake.Repeat(other.ID))
	w.deliver(t)
	had, err := w.fake.Session(t.Context(), of.Session.ID)
	require.NoError(t, err)
	require.Equal(t, processor.SessionExpired, had.Status)
}
