package stripeprocessor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/redemption"
)

// delivered lets the webhook take all events.
func (s *shop) delivered() {
	s.Helper()
	refused, err := s.account.Deliver(s.Context(), s.server.Client(), s.address)
	require.NoError(s, err)
	require.Zero(s, refused)
}

func (s *shop) stored(id string) redemption.Order {
	s.Helper()
	o, err := s.service.Order(s.Context(), couponkit.OrderRequest{OrderID: id, CustomerID: "ann"})
	require.NoError(s, err)
	return o.Order
}

// A refund of units, one in the dashboard and a dispute reach the order through the webhook, and no
// more goes back than was paid.
func TestRefundsAndDisputesReachTheOrder(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]pricing.Line{
		"payment":      {ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 10_00},
		"subscription": {ID: "1", Kind: pricing.Plan, ItemID: "gold", Quantity: 2, UnitPrice: 10_00, Recurs: pricing.Monthly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.create("SUMMER", 5)
			checkout := s.checkout("SUMMER", "ann", "cart-1", line)
			require.NoError(t, s.account.Pay(checkout.Session.ID))
			s.delivered()
			one := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
			result, err := s.service.Refund(t.Context(), couponkit.RefundRequest{OrderID: checkout.Order.ID, Key: "one", Returns: one})
			require.NoError(t, err)
			made := s.account.Refunds()
			require.Len(t, made, 1)
			require.Equal(t, redemption.Repayment{State: redemption.RepaymentSucceeded, Amount: 9_00, Currency: pricing.EUR(), Attempt: 1, ID: made[0].ID}, result.Refund.Repayment)
			require.Equal(t, int64(9_00), made[0].Amount)
			require.Equal(t, checkout.Order.ID, made[0].Metadata[processor.MetadataOrderID])
			require.Equal(t, result.Refund.ID, made[0].Metadata[processor.MetadataRefundID])
			s.delivered()
			require.Empty(t, s.stored(checkout.Order.ID).ExternalRefunds)

			staff, err := s.account.RefundInDashboard(checkout.Session.ID, 5_00)
			require.NoError(t, err)
			s.delivered()
			o := s.stored(checkout.Order.ID)
			require.Equal(t, []redemption.ExternalRefund{{ID: staff, Amount: 5_00, Currency: pricing.EUR(), State: redemption.RepaymentSucceeded, At: o.ExternalRefunds[0].At}}, o.ExternalRefunds)
			result, err = s.service.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "two", Returns: one})
			require.NoError(t, err)
			require.Equal(t, int64(4_00), result.Refund.Repayment.Amount)
			require.Equal(t, int64(18_00), result.Order.Returned())

			require.NoError(t, s.account.SetRefund(result.Refund.Repayment.ID, "failed"))
			dispute, err := s.account.Dispute(checkout.Session.ID)
			require.NoError(t, err)
			require.NoError(t, s.account.SetDispute(dispute, "under_review"))
			s.delivered()
			o = s.stored(o.ID)
			require.Equal(t, redemption.RepaymentFailed, o.Refunds[1].Repayment.State)
			require.Equal(t, "lost_or_stolen_card", o.Refunds[1].Repayment.Failure)
			require.Equal(t, redemption.DisputeOpen, o.Disputes[0].State)
			require.NoError(t, s.account.SetDispute(dispute, "lost"))
			s.delivered()
			o = s.stored(o.ID)
			require.Equal(t, redemption.DisputeLost, o.Disputes[0].State)
			require.Equal(t, int64(18_00), o.Returned())
		})
	}
}

// Whatever Stripe answers, one refund is made, also when the idempotency key is spent or forgotten.
func TestOneRefundWhateverFails(t *testing.T) {
	t.Parallel()
	for _, fault := range []stripefake.Fault{
		stripefake.LostBefore, stripefake.LostAfter, stripefake.FailBefore, stripefake.FailAfter, stripefake.KeyInUse,
		stripefake.RateLimited, stripefake.LockTimeout, stripefake.BadGateway, stripefake.Unavailable, stripefake.DependencyFailed,
	} {
		for times := 1; times <= 5; times++ {
			w := newWorld(t)
			session, err := w.processor.CreateSession(t.Context(), w.request("key-1"))
			require.NoError(t, err)
			require.NoError(t, w.account.Pay(session.ID))
			struck := 0
			w.account.Faults(func(c stripefake.Call) stripefake.Fault {
				if c.Op != "refunds.create" || struck == times {
					return stripefake.None
				}
				struck++
				return fault
			})
			r := processor.RefundRequest{SessionID: session.ID, Key: "refund-1", Amount: 100}
			if _, err = w.processor.Refund(t.Context(), r); err != nil {
				require.ErrorIs(t, err, processor.ErrUnavailable, "%s", fault)
			}
			w.account.Faults(nil)
			w.clock.Advance(48 * time.Hour)
			made, err := w.anotherProcess().Refund(t.Context(), r)
			require.NoError(t, err, "%s", fault)
			require.Equal(t, []any{int64(100), "refund-1", processor.RefundSucceeded}, []any{made.Amount, made.Key, made.Status})
			require.Len(t, w.account.Refunds(), 1, "%s, %d times", fault, times)
		}
	}
}

// A payment of another application is not refunded, and what happens to it is not told.
func TestRefundsOfAnotherApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session, err := w.processor.CreateSession(t.Context(), w.request("key-1"))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(session.ID))
	other := w.anotherProcess(func(o *stripeprocessor.Options) { o.App = "another" })
	_, err = other.Refund(t.Context(), processor.RefundRequest{SessionID: session.ID, Key: "a", Amount: 1})
	require.ErrorIs(t, err, processor.ErrNotFound)
	for _, id := range []string{session.ID, "pi_" + session.ID, "pi_none"} {
		_, err = other.Refunds(t.Context(), id)
		require.ErrorIs(t, err, processor.ErrNotFound, id)
	}
	require.Empty(t, w.account.Refunds())
}

// Amounts of refunds are in Stripe's minor units, and on its steps.
func TestAmountsOfRefunds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	krona, err := pricing.ParseCurrency("ISK")
	require.NoError(t, err)
	r := w.request("key-1")
	r.Currency, r.Lines = krona, r.Lines[:1]
	r.Lines[0].Quantity, r.Lines[0].UnitAmount, r.Total = 1, 900, 900
	session, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(session.ID))
	made, err := w.processor.Refund(t.Context(), processor.RefundRequest{SessionID: session.ID, Key: "a", Amount: 5})
	require.NoError(t, err)
	require.Equal(t, []int64{5, 500}, []int64{made.Amount, w.account.Refunds()[0].Amount})
	_, err = w.account.Dispute(session.ID)
	require.NoError(t, err)
	told, err := w.processor.Refunds(t.Context(), session.ID)
	require.NoError(t, err)
	require.Equal(t, int64(900), told.Disputes[0].Amount)
	_, err = w.processor.Refund(t.Context(), processor.RefundRequest{SessionID: session.ID, Key: "b", Amount: 5})
	require.ErrorIs(t, err, processor.ErrRejected, "a disputed charge")
	require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
}

// Events about refunds and disputes name their payment, and nothing else.
func TestEventsOfRefunds(t *testing.T) {
	t.Parallel()
	kinds := map[string]processor.EventType{
		"charge.refunded": processor.RefundChanged, "charge.refund.updated": processor.RefundChanged,
		"refund.created": processor.RefundChanged, "refund.updated": processor.RefundChanged, "refund.failed": processor.RefundChanged,
		"charge.dispute.created": processor.DisputeChanged, "charge.dispute.updated": processor.DisputeChanged,
		"charge.dispute.closed": processor.DisputeChanged, "charge.dispute.funds_withdrawn": processor.DisputeChanged,
		"charge.dispute.funds_reinstated": processor.DisputeChanged,
		"charge.succeeded":                processor.Ignored, "refund.unheard_of": processor.Ignored,
	}
	for name, want := range kinds {
		for payment, object := range map[string]any{
			"pi_1": map[string]any{"payment_intent": "pi_1"}, "pi_2": map[string]any{"payment_intent": map[string]any{"id": "pi_2", "object": "payment_intent"}},
			"": map[string]any{"payment_intent": nil},
		} {
			w := newWorld(t)
			w.account.Announce(name, object)
			e := w.account.Events()[0]
			got, err := w.processor.ParseEvent(e.Payload, w.account.Sign(e.Payload, w.clock.Now()))
			require.NoError(t, err)
			wanted := processor.Event{ID: e.ID, CreatedAt: got.CreatedAt}
			if want != processor.Ignored && payment != "" {
				wanted.Type, wanted.PaymentID = want, payment
			}
			require.Equal(t, wanted, got, "%s of %q", name, payment)
		}
	}
	w := newWorld(t)
	for _, object := range []any{map[string]any{"payment_intent": 7}, map[string]any{"payment_intent": map[string]any{"object": "payment_intent"}}} {
		w.account.Announce("charge.refunded", object)
	}
	for _, e := range w.account.Events() {
		_, err := w.processor.ParseEvent(e.Payload, w.account.Sign(e.Payload, w.clock.Now()))
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	}
}
