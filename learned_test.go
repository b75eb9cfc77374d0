package couponkit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
)

// dorothea pays for others, with a card of her own.
var dorothea = processor.Payer{Email: " Dorothea@Example.org ", Aliases: []string{"card_1"}}

// asPayer pays for a checkout and returns the outcomes of the events.
func (w *world) asPayer(t *testing.T, c couponkit.Checkout, payer processor.Payer) []couponkit.Outcome {
	t.Helper()
	require.NoError(t, w.fake.Enter(c.Session.ID, payer))
	require.NoError(t, w.fake.Pay(c.Session.ID))
	return w.deliver(t)
}

func (w *world) count(t *testing.T, counter string) eligibility.Count {
	t.Helper()
	counts, err := w.store.Counts(t.Context(), []string{counter})
	require.NoError(t, err)
	return counts[0]
}

// An identity that is learned at payment is claimed once, and flagged if a limit was reached. Later
// checkouts with the identity are refused.
func TestIdentitiesLearnedAtPayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.asPayer(t, w.checkout(t, w.request("TEN")), dorothea)
	require.Equal(t, couponkit.FlagNone, first[0].Flag)
	request := w.request("TEN")
	request.Customer = bob
	second := w.asPayer(t, w.checkout(t, request), dorothea)
	require.Equal(t, couponkit.FlagOverLimit, second[0].Flag)
	for _, identity := range []string{eligibility.EmailIdentity("dorothea@example.org"), eligibility.AliasIdentity("card_1")} {
		require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerUses(c.ID, identity)))
		require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerOrders(identity)))
	}
	for _, d := range w.fake.Redeliveries() {
		e, err := w.fake.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		again, err := w.HandleEvent(t.Context(), e)
		require.NoError(t, err)
		require.False(t, again.Changed)
	}
	require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerUses(c.ID, eligibility.AliasIdentity("card_1"))))
	request.Customer = eligibility.Customer{ID: "cem", Aliases: []string{"card_1"}}
	quiet, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = quiet.Checkout(t.Context(), request)
	require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached)
}

// The windows are those of the reservation, even if the payment comes days later. The customer's
// own address is not claimed once more.
func TestIdentitiesLearnedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
	c := w.create(t, d)
	placed := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Enter(placed.Session.ID, processor.Payer{Email: "ANN@example.org", Aliases: []string{"card_1", "card_1"}}))
	require.NoError(t, w.fake.PayLater(placed.Session.ID))
	w.deliver(t)
	before := w.order(t, placed.Order.ID)
	require.Equal(t, placed.Order.Claims, before.Claims, "a payment that is on its way claims nothing")
	w.pass(50 * time.Hour)
	require.NoError(t, w.fake.PaymentArrives(placed.Session.ID))
	o := w.deliver(t)[0]
	require.Equal(t, couponkit.FlagNone, o.Flag)
	require.Len(t, o.Order.Claims, len(before.Claims)+1)
	card := eligibility.AliasIdentity("card_1")
	require.Equal(t, eligibility.Count{Completed: 1}, w.count(t, eligibility.CustomerPeriodUses(c.ID, card, calendar.Day.String(), "2026-11-20")))
	require.Equal(t, eligibility.Count{}, w.count(t, eligibility.CustomerPeriodUses(c.ID, card, calendar.Day.String(), "2026-11-22")))
}

// A sweep that finds a payment learns from the session, and a payment of an unknown order learns
// from the event.
func TestIdentitiesLearnedWithoutAnOrdinaryEvent(t *testing.T) {
	t.Parallel()
	card := eligibility.AliasIdentity("card_1")
	w := newWorld(t)
	c := w.create(t, tenOff())
	placed := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Enter(placed.Session.ID, dorothea))
	require.NoError(t, w.fake.Pay(placed.Session.ID))
	w.pass(48 * time.Hour)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, report.Paid, 1)
	require.Equal(t, eligibility.Count{Completed: 1}, w.count(t, eligibility.CustomerUses(c.ID, card)))

	request, err := w.fake.Request(placed.Session.ID)
	require.NoError(t, err)
	request.Key, request.OrderID, request.ExpiresAt = "lost", "ord_lost", w.now.Add(time.Hour)
	request.Metadata[processor.MetadataOrderID] = "ord_lost"
	lost, err := w.fake.CreateSession(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, w.fake.Enter(lost.ID, dorothea))
	require.NoError(t, w.fake.Pay(lost.ID))
	w.deliver(t)
	require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerUses(c.ID, card)))
	require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerOrders(card)))
	handler := w.fake.Handler(w.Webhook(nil))
	for _, d := range w.fake.Redeliveries() {
		require.NoError(t, fakeprocessor.Serve(handler)(t.Context(), d))
	}
	require.Equal(t, eligibility.Count{Completed: 2}, w.count(t, eligibility.CustomerUses(c.ID, card)))
}

// What cannot be an identity keeps no payment from being recorded.
func TestImpossibleIdentitiesAtPayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	payer := processor.Payer{Email: "no address", Aliases: make([]string, 40)}
	payer.Aliases[1], payer.Aliases[39] = "\xff\x00", "too many"
	o := w.asPayer(t, w.checkout(t, w.request("TEN")), payer)[0]
	require.Equal(t, redemption.OrderPaid, o.Order.State)
	require.Len(t, o.Order.Claims, 3)
}
