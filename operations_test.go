package couponkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// These tests hold what docs/operations.md says.

// known lets everybody use coupons.
type known struct{}

func (known) User(_ context.Context, id string) (couponkit.User, error) {
	return couponkit.User{ID: id}, nil
}

func of(customer string) eligibility.Customer { return eligibility.Customer{ID: customer} }

// buy is a checkout of the customer with a key.
func (w *world) buy(ctx context.Context, customer, key, code string) (couponkit.Checkout, error) {
	return w.Checkout(ctx, couponkit.CheckoutRequest{Key: key, Cart: phones(), Codes: only(code), Customer: of(customer)})
}

func (w *world) held(t *testing.T, id string, used, reserved int64) {
	t.Helper()
	c := w.get(t, id)
	if c.UsedCount != used || c.ReservedCount != reserved {
		t.Errorf("%s has %d used and %d reserved, want %d and %d", c.Code, c.UsedCount, c.ReservedCount, used, reserved)
	}
}

// TestADayWithoutTheProcessor: what needs the processor is ErrUnavailable and leaves nothing
// behind that Reconcile and Sweep do not finish; places are kept, and payments are recorded.
func TestADayWithoutTheProcessor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(known{}))
	ctx := t.Context()
	code := func(code string) coupon.Draft { d := tenOff(); d.Code = code; return d }
	ten := w.create(t, code("TEN"))
	renamed, switched, deleted := w.create(t, code("RENAMED")), w.create(t, code("SWITCHED")), w.create(t, code("DELETED"))
	points := code("POINTS")
	points.Distribution, points.PointsRequired = coupon.PointsRedeemable, 5
	w.create(t, points)
	paid, err := w.buy(ctx, "ann", "a", "ten")
	require.NoError(t, err)
	told, err := w.buy(ctx, "bob", "b", "ten")
	require.NoError(t, err)
	_, err = w.buy(ctx, "cleo", "c", "ten")
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(told.Session.ID))
	events := w.fake.Deliveries()
	require.NoError(t, w.fake.Pay(paid.Session.ID)) // and nobody hears of it

	down := w.fake.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1})
	for name, call := range map[string]func() error{
		"create": func() error { _, err := w.Create(ctx, code("NEW")); return err },
		"update": func() error {
			_, err := w.Update(ctx, renamed.ID, coupon.Patch{Name: coupon.Set("New name")})
			return err
		},
		"switch": func() error { _, err := w.SetActive(ctx, switched.ID, false); return err },
		"delete": func() error { return w.Delete(ctx, deleted.ID) },
		"validate": func() error {
			_, err := w.Validate(ctx, couponkit.ValidateRequest{Code: "renamed", Customer: of("dora")})
			return err
		},
		"quote": func() error {
			_, err := w.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{"switched"}, Customer: of("dora")})
			return err
		},
		"exchange": func() error {
			_, err := w.ExchangePoints(ctx, couponkit.ExchangeRequest{Key: "x", Coupon: "points", Customer: of("ann")})
			return err
		},
		"checkout":  func() error { _, err := w.buy(ctx, "dora", "d", "ten"); return err },
		"no coupon": func() error { _, err := w.buy(ctx, "eve", "e", ""); return err },
		"reconcile": func() error { _, err := w.Reconcile(ctx, couponkit.ReconcileOptions{}); return err },
	} {
		require.ErrorIs(t, call(), couponkit.ErrUnavailable, name)
	}
	_, err = w.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Customer: of("dora")})
	require.NoError(t, err, "a quote without a coupon")
	_, err = w.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{"ten"}, Customer: of("dora")})
	require.NoError(t, err, "a quote with a coupon of which the processor has told lately")
	again, err := w.buy(ctx, "cleo", "c", "ten")
	require.NoError(t, err)
	require.True(t, again.Replayed, "a checkout whose session is there")
	event, err := w.fake.ParseEvent(events[0].Payload, events[0].Signature)
	require.NoError(t, err)
	require.NoError(t, w.handle(ctx, event), "an event that comes through")
	require.Equal(t, "Ten off", w.get(t, renamed.ID).Name, "the change is undone")
	require.Equal(t, coupon.Active, w.get(t, switched.ID).State, "the switch is undone")
	_, err = w.Get(ctx, deleted.ID)
	require.ErrorIs(t, err, coupon.ErrNotFound, "the deletion stands")

	_, err = w.buy(ctx, "finn", "f", "")
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	down.Remove()
	_, err = w.buy(ctx, "finn", "f", "")
	require.NoError(t, err, "the same key, before a sweep has cancelled the order")

	down = w.fake.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1})
	w.pass(24 * time.Hour)
	report, err := w.Sweep(ctx, 0)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	require.Equal(t, swept{Failed: 4}, counted(report))
	w.held(t, ten.ID, 1, 2)

	down.Remove()
	drifts, err := w.Reconcile(ctx, couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Len(t, drifts, 4)
	w.create(t, code("NEW"))
	_, err = w.buy(ctx, "dora", "d", "ten")
	require.NoError(t, err, "the same key")
	_, err = w.buy(ctx, "eve", "e", "")
	require.ErrorIs(t, err, couponkit.ErrOrderEnded, "another key is needed")
	report, err = w.Sweep(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"ann"}, paidBy(report))
	require.Equal(t, swept{Paid: 1, Cancelled: 3}, counted(report))
	w.held(t, ten.ID, 2, 1)
}

// paidBy are the customers whose orders a sweep has found paid.
func paidBy(report couponkit.SweepReport) (customers []string) {
	for _, paid := range report.Paid {
		customers = append(customers, paid.Order.CustomerID)
	}
	return customers
}

// TestAClockThatIsAhead: it ends sessions that could have been paid, and no place is given away
// that was.
func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(known{}))
	ten := w.create(t, tenOff())
	paid, err := w.buy(t.Context(), "ann", "a", "ten")
	require.NoError(t, err)
	open, err := w.buy(t.Context(), "bob", "b", "ten")
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(paid.Session.ID)) // and nobody hears of it
	ahead, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now.Add(2 * time.Hour) }))
	require.NoError(t, err)
	report, err := ahead.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"ann"}, paidBy(report))
	require.Equal(t, swept{Paid: 1, Cancelled: 1}, counted(report))
	w.held(t, ten.ID, 1, 0)
	require.ErrorIs(t, w.fake.Pay(open.Session.ID), processor.ErrRejected, "the session is ended")
	long, err := ahead.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"ten"}, Customer: of("cleo")})
	require.NoError(t, err)
	require.Equal(t, w.now.Add(2*time.Hour+couponkit.DefaultSessionLifetime), long.Session.ExpiresAt, "it lasts longer by as much")
}

// TestAClockThatIsBehind: it asks for sessions that have ended already, and is slow to give
// places back; payments count.
func TestAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(known{}))
	ten := w.create(t, tenOff())
	paid, err := w.buy(t.Context(), "ann", "a", "ten")
	require.NoError(t, err)
	left, err := w.buy(t.Context(), "bob", "b", "ten")
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(paid.Session.ID))
	behind, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now.Add(-2 * time.Hour) }))
	require.NoError(t, err)
	late := couponkit.CheckoutRequest{Key: "c", Cart: phones(), Codes: []string{"ten"}, Customer: of("cleo")}
	_, err = behind.Checkout(t.Context(), late)
	require.ErrorIs(t, err, processor.ErrRejected)
	w.held(t, ten.ID, 0, 2)
	for _, d := range w.fake.Deliveries() {
		event, err := w.fake.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		_, err = behind.HandleEvent(t.Context(), event)
		require.NoError(t, err)
	}
	w.held(t, ten.ID, 1, 1)

	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := behind.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, report)
	w.held(t, ten.ID, 1, 1)
	w.deliver(t) // the processor's clock is right
	require.Equal(t, redemption.OrderCancelled, w.order(t, left.Order.ID).State)
	w.held(t, ten.ID, 1, 0)
	_, err = w.Checkout(t.Context(), late)
	require.ErrorIs(t, err, couponkit.ErrOrderEnded, "the clock is right again, and the key's order has ended")
}

// TestAProcessorThatForgets: a processor in memory begins its IDs again with its process. A
// store that outlives it refuses them to other redemptions, and says what that may come from;
// with a prefix for each start and a Reconcile all goes on.
func TestAProcessorThatForgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(known{}))
	ten := w.create(t, tenOff())
	before, err := w.buy(t.Context(), "ann", "k", "ten")
	require.NoError(t, err)
	var again *couponkit.Service
	start := func(prefix string) (couponkit.Checkout, error) {
		again, err = couponkit.New(w.store, couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{Now: clockOf(w), IDPrefix: prefix})),
			couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		request := couponkit.CheckoutRequest{Key: "k" + prefix, Cart: phones(), Codes: []string{"ten"}, Customer: of("bob")}
		_, err = again.Checkout(t.Context(), request)
		require.ErrorIs(t, err, coupon.ErrProcessorOutOfSync, "the mirrors are forgotten")
		_, err = again.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.NoError(t, err)
		return again.Checkout(t.Context(), request)
	}
	_, err = start("")
	require.ErrorIs(t, err, store.ErrSuperseded)
	require.ErrorContains(t, err, "as when a processor gives an ID twice")
	after, err := start("second_")
	require.NoError(t, err)
	require.NotEqual(t, before.Session.ID, after.Session.ID)
	w.held(t, ten.ID, 0, 2)
	w.pass(2 * time.Hour)
	report, err := again.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, swept{Cancelled: 2}, counted(report), "ann's session is unknown")
}

// TestASweepThatIsCutOff: a sweep whose context ends has an ordinary error, and the next one
// goes on.
func TestASweepThatIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(known{}))
	ten := w.create(t, tenOff())
	for _, customer := range []string{"ann", "bob", "cleo"} {
		_, err := w.buy(t.Context(), customer, "k", "ten")
		require.NoError(t, err)
	}
	w.pass(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.Hook, Skip: 1, Do: func(fakeprocessor.Call) { cancel() }})
	report, err := w.Sweep(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, couponkit.ErrUnavailable)
	require.Positive(t, report.Failed)
	next, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 3, len(report.Cancelled)+len(next.Cancelled))
	w.held(t, ten.ID, 0, 0)
}
