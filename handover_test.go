package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	"github.com/couponkit/couponkit/validation"
)

// hasty tells the webhook that a session has ended before it answers the call that
// has ended it.
type hasty struct {
	*fakeprocessor.Processor
	tell func()
}

func (p hasty) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	session, err := p.Processor.ExpireSession(ctx, id)
	p.tell()
	return session, err
}

// hastyService is a service on the store whose processor tells hear of the end before it
// answers.
func (w *world) hastyService(t *testing.T, on store.Store, hear func()) *couponkit.Service {
	t.Helper()
	service, err := couponkit.New(on, couponkit.WithProcessor(hasty{w.fake, hear}), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	return service
}

// lastUse is a draft with one use for everybody.
func lastUse() coupon.Draft {
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	return d
}

// begun is a world in which Ann has a session for the only use that she can have. The service
// stops when the fuse blows.
func begun(t *testing.T, d coupon.Draft) (*world, *fuse, coupon.Coupon, couponkit.Checkout) {
	t.Helper()
	w, blow := newCrashingWorld(t)
	c := w.create(t, d)
	if c.Distribution == coupon.PointsRedeemable {
		w.exchange(t, c)
	}
	return w, blow, c, w.checkout(t, w.request("TEN"))
}

// again is Ann's second attempt.
func (w *world) again(key string) couponkit.CheckoutRequest {
	r := w.request("TEN")
	r.Key = key
	return r
}

// payable are the sessions that can be paid now.
func (w *world) payable() (ids []string) {
	for _, s := range w.fake.Sessions() {
		if s.Status == processor.SessionOpen {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

var handOvers = map[string]func() coupon.Draft{"the last use": lastUse, "for points": forPoints}

// TestAnExpiryThatIsFasterThanTheHandOver holds contract 5.3: the uses are the new order's,
// also when a webhook hears of the old session's end before the checkout goes on.
func TestAnExpiryThatIsFasterThanTheHandOver(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, c, first := begun(t, draft())
			points := w.ledger.Balance(ann.ID)
			second, err := w.hastyService(t, w.store, func() { w.deliver(t) }).Checkout(t.Context(), w.again("again"))
			require.NoError(t, err)
			require.False(t, second.Replayed)
			require.Equal(t, first.Order.ID, second.Order.Replaces)
			require.Equal(t, first.Uses[0].ExchangeID, second.Uses[0].ExchangeID)
			w.wantBalance(t, points)
			require.NoError(t, w.fake.Pay(second.Session.ID))
			w.deliver(t)
			w.held(t, c.ID, 1, 0)
			w.wantBalance(t, points)
		})
	}
}

// TestAHandOverGoesOnAfterAnyFailure: whichever call fails, before or after its effect, the
// same key leads to one session that can be paid. At no time are there two.
func TestAHandOverGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for calls := range 14 {
			for _, after := range []bool{false, true} {
				for _, comesBack := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d calls, after %t, comes back %t", name, calls, after, comesBack), func(t *testing.T) {
						t.Parallel()
						w, blow, c, first := begun(t, draft())
						points := w.ledger.Balance(ann.ID)
						blow.arm(calls, after)
						_, err := w.Checkout(t.Context(), w.again("again"))
						if err != nil {
							require.ErrorIs(t, err, errCrash)
						}
						blow.restart()
						w.held(t, c.ID, 0, 1)
						require.LessOrEqual(t, len(w.payable()), 1)
						w.deliver(t)
						if comesBack {
							second := w.checkout(t, w.again("again"))
							require.Equal(t, []string{second.Session.ID}, w.payable())
							require.NotEqual(t, first.Session.ID, second.Session.ID)
							w.held(t, c.ID, 0, 1)
							w.wantBalance(t, points)
							require.NoError(t, w.fake.Pay(second.Session.ID))
							w.deliver(t)
							w.held(t, c.ID, 1, 0)
							return
						}
						w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
						_, err = w.Sweep(t.Context(), 0)
						require.NoError(t, err)
						w.held(t, c.ID, 0, 0)
						require.Empty(t, w.payable())
						w.wantBalance(t, 100)
					})
				}
			}
		}
	}
}

// TestTheOldSessionIsFinishedAtAnyStep of a hand-over, and its event is lost, late or prompt.
// What the customer has finished is never lost and never over the limit, and nothing else of
// theirs can be paid then.
func TestTheOldSessionIsFinishedAtAnyStep(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for how, finish := range map[string]func(*fakeprocessor.Processor, string) error{
			"paid": (*fakeprocessor.Processor).Pay, "to be paid later": (*fakeprocessor.Processor).PayLater,
		} {
			for _, event := range []string{"prompt", "late", "lost"} {
				for calls := range 10 {
					t.Run(fmt.Sprintf("%s, %s, event %s, at %d", name, how, event, calls), func(t *testing.T) {
						t.Parallel()
						w, _, c, first := begun(t, draft())
						whole, n, finished := w.Service, 0, false
						step := func(_ string, effect func() error) error {
							if n == calls {
								finished = finish(w.fake, first.Session.ID) == nil
								if event == "prompt" {
									w.Service, whole = whole, w.Service
									w.deliver(t)
									w.Service, whole = whole, w.Service
								}
							}
							n++
							return effect()
						}
						service, err := couponkit.New(gated{w.store, step}, couponkit.WithProcessor(gatedProcessor{w.fake, step}),
							couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
						require.NoError(t, err)
						second, err := service.Checkout(t.Context(), w.again("again"))
						w.Service = whole
						if !finished {
							require.NoError(t, err)
							require.Equal(t, []string{second.Session.ID}, w.payable())
							return
						}
						var refused *coupon.Rejection
						if !errors.As(err, &refused) && !isConflict(err) {
							t.Errorf("got %v, want a refusal", err)
						}
						require.Empty(t, w.payable())
						w.finishAndSettle(t, how == "paid", event == "lost", first)
						w.held(t, c.ID, 1, 0)
						use := useOf(t, w.usesOfOrder(t, first.Order.ID))
						require.False(t, use.OverLimit)
						if c.Distribution == coupon.PointsRedeemable {
							require.Equal(t, redemption.PointsDebited, use.PointsState)
							w.wantBalance(t, 40)
						}
					})
				}
			}
		}
	}
}

// finishAndSettle lets time pass, the delayed payment arrive, and its events or the sweep tell
// the service.
func (w *world) finishAndSettle(t *testing.T, paid, lost bool, c couponkit.Checkout) {
	t.Helper()
	if lost {
		w.fake.Deliveries()
	}
	w.deliver(t)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	_, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if !paid {
		require.Equal(t, redemption.OrderAwaitingPayment, w.order(t, c.Order.ID).State)
		require.NoError(t, w.fake.PaymentArrives(c.Session.ID))
		w.deliver(t)
	}
	require.Equal(t, redemption.OrderPaid, w.order(t, c.Order.ID).State)
}

func (w *world) usesOfOrder(t *testing.T, id string) []redemption.Use {
	t.Helper()
	o, err := w.store.Order(t.Context(), store.OrderKey{ID: id})
	require.NoError(t, err)
	return o.Uses
}

// TestAProcessorThatDoesNotAnswerAHandOver: while it is not known whether the old session has
// ended, there is no new session. The same key goes on, and so does the old session.
func TestAProcessorThatDoesNotAnswerAHandOver(t *testing.T) {
	t.Parallel()
	for _, kind := range []fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter} {
		for _, pays := range []bool{false, true} {
			w, _, c, first := begun(t, lastUse())
			down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: kind, Times: -1})
			for range 2 {
				_, err := w.Checkout(t.Context(), w.again("again"))
				require.ErrorIs(t, err, couponkit.ErrUnavailable)
			}
			require.Len(t, w.fake.Sessions(), 1)
			w.held(t, c.ID, 0, 1)
			down.Remove()
			if pays && kind == fakeprocessor.LostBefore {
				require.NoError(t, w.fake.Pay(first.Session.ID))
				_, err := w.Checkout(t.Context(), w.again("again"))
				require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
				_, err = w.Checkout(t.Context(), w.again("again"))
				require.ErrorIs(t, err, couponkit.ErrOrderEnded)
				require.Equal(t, redemption.OrderPaid, w.order(t, first.Order.ID).State)
				w.held(t, c.ID, 1, 0)
				continue
			}
			second := w.checkout(t, w.again("again"))
			require.Equal(t, []string{second.Session.ID}, w.payable())
			w.held(t, c.ID, 0, 1)
		}
	}
}

// TestAHandOverThatIsHandedOver: an order that never got its session has left that of the first
// order open. The third attempt ends it.
func TestAHandOverThatIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		w, _, c, first := begun(t, draft())
		down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
		_, err := w.Checkout(t.Context(), w.again("second"))
		require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
		require.Equal(t, []string{first.Session.ID}, w.payable(), name)
		down.Remove()
		third := w.checkout(t, w.again("third"))
		require.Equal(t, []string{third.Session.ID}, w.payable(), name)
		_, err = w.Checkout(t.Context(), w.again("second"))
		require.ErrorIs(t, err, couponkit.ErrOrderEnded, name)
		w.held(t, c.ID, 0, 1)
	}
}

// TestAHandOverThatNobodyComesBackFor: the sweep asks about the session of the first order
// before it gives the claims back.
func TestAHandOverThatNobodyComesBackFor(t *testing.T) {
	t.Parallel()
	w, _, c, first := begun(t, forPoints())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("second"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	require.NoError(t, w.fake.Pay(first.Session.ID)) // and the event is lost
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, report.Paid, 1)
	require.Equal(t, first.Order.ID, report.Paid[0].Order.ID)
	require.Equal(t, swept{Paid: 1, Cancelled: 1}, counted(report))
	require.Equal(t, first.Order.ID, report.Cancelled[0].Order.Replaces, "the payment has ended the second order")
	require.Equal(t, redemption.OrderCancelled, report.Cancelled[0].Order.State)
	w.held(t, c.ID, 1, 0)
	w.wantBalance(t, 40)
}

// failedMeanwhile is a hand-over that stopped before it ended the first session. The customer has
// finished that session since, and the delayed payment has failed.
func failedMeanwhile(t *testing.T, draft coupon.Draft) (*world, coupon.Coupon, couponkit.Checkout) {
	t.Helper()
	w, _, c, first := begun(t, draft)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("second"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	require.NoError(t, w.fake.PayLater(first.Session.ID))
	require.NoError(t, w.fake.PaymentFails(first.Session.ID))
	return w, c, first
}

// TestTheOldPaymentFailsDuringAHandOver: the new order can be paid, or lapses. No claim is kept for
// ever.
func TestTheOldPaymentFailsDuringAHandOver(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for _, returns := range []bool{true, false} {
			w, c, _ := failedMeanwhile(t, draft())
			w.fake.Deliveries() // they are lost
			if returns {
				second := w.checkout(t, w.again("second"))
				require.Equal(t, []string{second.Session.ID}, w.payable(), name)
				w.held(t, c.ID, 0, 1)
				continue
			}
			w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
			report, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err, name)
			require.Len(t, report.Cancelled, 1, name)
			w.held(t, c.ID, 0, 0)
			report, err = w.Sweep(t.Context(), 0)
			require.NoError(t, err, name)
			require.True(t, report.IsZero(), "%s: %+v", name, report)
		}
	}
}

// TestALateWordOfAPaymentThatHasFailed: the events of the first session come late and in the wrong
// order, perhaps when the processor has forgotten the session. They do not take the claims back from
// the order that has replaced it.
func TestALateWordOfAPaymentThatHasFailed(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for _, forgotten := range []bool{false, true} {
			w, c, first := failedMeanwhile(t, draft())
			service := w.Service
			if forgotten {
				var err error
				service, err = couponkit.New(w.store, couponkit.WithProcessor(forgetful{w.fake}), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
				require.NoError(t, err, name)
			}
			for _, d := range slices.Backward(w.fake.Deliveries()) {
				e, err := w.fake.ParseEvent(d.Payload, d.Signature)
				require.NoError(t, err, name)
				_, err = service.HandleEvent(t.Context(), e)
				require.NoError(t, err, name)
			}
			require.Equal(t, redemption.OrderCancelled, w.order(t, first.Order.ID).State, name)
			second := w.checkout(t, w.again("second"))
			require.Equal(t, []string{second.Session.ID}, w.payable(), name)
			w.held(t, c.ID, 0, 1)
		}
	}
}

// TestAPaymentOfASessionThatNobodyKnew: the processor's answer was lost, and another order has
// replaced that of the session. A processor that is no SessionFinder tells of no session. The payment counts, and the session of the other order is ended.
func TestAPaymentOfASessionThatNobodyKnew(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		w, _ := newCrashingWorld(t)
		c := w.create(t, draft())
		if c.Distribution == coupon.PointsRedeemable {
			w.exchange(t, c)
		}
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
		_, err := w.Checkout(t.Context(), w.again("first"))
		require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
		_, err = w.Checkout(t.Context(), w.again("second"))
		require.ErrorIs(t, err, couponkit.ErrPaymentOpen, name)
		w.pass(couponkit.DefaultCreateTime)
		second := w.checkout(t, w.again("second"))
		lost, err := w.orderByKey("first")
		require.NoError(t, err)
		require.Equal(t, second.Order.ID, lost.ReplacedBy)
		require.NoError(t, w.fake.Pay(w.fake.Sessions()[0].ID))
		w.deliver(t)
		require.Empty(t, w.payable(), name)
		require.Equal(t, redemption.OrderPaid, w.order(t, lost.ID).State)
		require.Equal(t, redemption.OrderCancelled, w.order(t, second.Order.ID).State)
		w.held(t, c.ID, 1, 0)
	}
}

// TestARefusedHandOverKeepsTheClaims: the processor refuses the second cart. The use stays the
// customer's until the deadline, and they can go back to the first cart.
func TestARefusedHandOverKeepsTheClaims(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for _, goesBack := range []bool{false, true} {
			w, _, c, first := begun(t, draft())
			points := w.ledger.Balance(ann.ID)
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse})
			_, err := w.Checkout(t.Context(), w.again("second"))
			require.ErrorIs(t, err, processor.ErrRejected, name)
			w.held(t, c.ID, 0, 1)
			w.wantBalance(t, points)
			require.Empty(t, w.payable(), name)
			if c.Limits.MaxUses == 1 {
				other := w.request("TEN")
				other.Customer = bob
				_, err = w.Checkout(t.Context(), other)
				require.ErrorIs(t, err, coupon.ErrUsageLimitReached, "somebody else")
			}
			if goesBack {
				third := w.checkout(t, w.again("third"))
				require.Equal(t, first.Order.Quote, third.Order.Quote)
				require.NoError(t, w.fake.Pay(third.Session.ID))
				w.deliver(t)
				w.held(t, c.ID, 1, 0)
				w.wantBalance(t, points)
				continue
			}
			w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
			_, err = w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			w.held(t, c.ID, 0, 0)
			w.wantBalance(t, 100)
		}
	}
}

// TestARefusedHandOverLeavesTheOldOrder: the coupon has changed since it was priced, or the cart
// cannot be sold. The first session can still be paid.
func TestARefusedHandOverLeavesTheOldOrder(t *testing.T) {
	t.Parallel()
	update := func(p coupon.Patch) func(*world, string) error {
		return func(w *world, id string) error { _, err := w.Update(w.t.Context(), id, p); return err }
	}
	for name, test := range map[string]struct {
		change func(w *world, id string) error
		want   error
	}{
		"switched off":       {func(w *world, id string) error { _, err := w.SetActive(w.t.Context(), id, false); return err }, coupon.ErrInactive},
		"deleted":            {func(w *world, id string) error { return w.Delete(w.t.Context(), id) }, coupon.ErrNotFound},
		"a minimum purchase": {update(coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "1000"})}), coupon.ErrMinimumPurchaseNotMet},
		"another scope":      {update(coupon.Patch{AppliesTo: coupon.Set(coupon.Subscription)}), coupon.ErrNoEligibleItems},
		"paid for by now": {func(w *world, _ string) error {
			s := w.fake.Sessions()[0]
			if err := w.fake.Pay(s.ID); err != nil {
				return err
			}
			return w.fake.Deliver(w.t.Context(), fakeprocessor.Serve(w.fake.Handler(w.handle)))
		}, nil},
	} {
		for kind, draft := range handOvers {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				w, _, c, first := begun(t, draft())
				whole, once := w.Service, false
				w.behind(func(call string, effect func() error) error {
					if call == "Reserve" && !once {
						once = true
						w.Service, whole = whole, w.Service
						require.NoError(t, test.change(w, c.ID))
						w.Service, whole = whole, w.Service
					}
					return effect()
				}, couponkit.WithClock(clockOf(w)))
				_, err := w.Checkout(t.Context(), w.again("again"))
				w.Service = whole
				var refused *coupon.Rejection
				require.ErrorAs(t, err, &refused)
				if test.want != nil {
					require.ErrorIs(t, err, test.want)
					require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
					require.NoError(t, w.fake.Pay(first.Session.ID))
					w.deliver(t)
				}
				require.Equal(t, redemption.OrderPaid, w.order(t, first.Order.ID).State)
				require.False(t, w.usesOfOrder(t, first.Order.ID)[0].OverLimit)
			})
		}
	}
}

// TestWhatCannotBeSoldEndsNoSession: a checkout that no processor takes leaves the session
// that the customer can pay.
func TestWhatCannotBeSoldEndsNoSession(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MaxLines: 4})
	w.exchange(t, w.create(t, forPoints()))
	first := w.checkout(t, w.request("TEN"))
	r := w.request("TEN")
	for _, id := range []string{"B", "C", "D"} {
		r.Cart.Lines = append(r.Cart.Lines, pricing.Line{ID: id, Kind: pricing.Device, ItemID: id, Quantity: 1, UnitPrice: 10_00})
	}
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.NoError(t, w.fake.Pay(first.Session.ID), "the session that is open")
}

// TestCheckoutsAtOnceBesideTheWebhook: a customer who checks out at many devices, pays whatever
// they are shown, and hears of everything late has one use, and spends the points once.
func TestCheckoutsAtOnceBesideTheWebhook(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
			require.NoError(t, err)
			w.Service = service
			c := w.create(t, draft())
			if c.Distribution == coupon.PointsRedeemable {
				w.exchange(t, c)
			}
			handler := fakeprocessor.Serve(w.fake.Handler(service.Webhook(nil)))
			var group sync.WaitGroup
			for device := range 8 {
				group.Go(func() {
					for i := range 20 {
						got, err := service.Checkout(t.Context(), w.again(fmt.Sprint(device, "/", i)))
						var refused *coupon.Rejection
						if err != nil && !errors.As(err, &refused) && !isConflict(err) {
							t.Errorf("checkout: %v", err)
						}
						if err == nil && device == i%8 {
							_ = w.fake.Pay(got.Session.ID) // ended perhaps
						}
						if device == 0 {
							_ = w.fake.Deliver(t.Context(), handler)
						}
					}
				})
			}
			group.Wait()
			for len(w.payable()) > 0 {
				require.Len(t, w.payable(), 1)
				require.NoError(t, w.fake.Pay(w.payable()[0]))
			}
			require.NoError(t, w.fake.Deliver(t.Context(), handler))
			w.held(t, c.ID, 1, 0)
			paid := 0
			for _, s := range w.fake.Sessions() {
				if s.PaymentStatus.Settled() {
					paid++
				}
			}
			require.Equal(t, 1, paid, "sessions that were paid")
			if c.Distribution == coupon.PointsRedeemable {
				w.wantBalance(t, 40)
			}
		})
	}
}

// TestAnExpiryOfALaterTime: the move is over, and an expiry is one as ever.
func TestAnExpiryOfALaterTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Service = w.hastyService(t, w.store, func() { w.deliver(t) })
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	second := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.handle(t.Context(), w.event(first, processor.Expired, processor.Unpaid)))
	require.EqualValues(t, 1, w.get(t, c.ID).ReservedCount, "after an expiry of the session that was left comes again")
	_, err := w.fake.ExpireSession(t.Context(), second.Session.ID)
	require.NoError(t, err)
	w.deliver(t)
	require.Zero(t, w.get(t, c.ID).ReservedCount)
}

// interrupting is a store that lets another call go first, between the first look for
// the key and the look-up of the coupon.
type interrupting struct {
	store.Store
	first func()
}

func (s *interrupting) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	if first := s.first; first != nil {
		s.first = nil
		first()
	}
	return s.Store.LookUp(ctx, by)
}

// TestTwoCallsWithOneKeyHaveOneSession: the second does not take the first one's session
// for an old one that is in the way.
func TestTwoCallsWithOneKeyHaveOneSession(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]coupon.Draft{"general": tenOff(), "for points": forPoints()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			slow := &interrupting{Store: w.store}
			service, err := couponkit.New(slow, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
			require.NoError(t, err)
			w.Service = service
			c := w.create(t, draft)
			if c.Distribution == coupon.PointsRedeemable {
				w.exchange(t, c)
			}
			r := w.request("TEN")
			r.Key = "double click"
			var first couponkit.Checkout
			slow.first = func() { first = w.checkout(t, r) }
			second := w.checkout(t, r)
			if first.Session != second.Session || first.Replayed || !second.Replayed {
				t.Errorf("the calls have sessions %s (replayed: %t) and %s (replayed: %t)",
					first.Session.ID, first.Replayed, second.Session.ID, second.Replayed)
			}
			require.NoError(t, w.fake.Pay(second.Session.ID))
		})
	}
}

// TestAPlaceThatCostNoPointsDoesNotPayForOneThatDoes: the coupon has come to cost points
// while the customer was at the checkout.
func TestAPlaceThatCostNoPointsDoesNotPayForOneThatDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	_, err := w.Update(t.Context(), c.ID, coupon.Patch{
		Distribution:   coupon.Set(coupon.PointsRedeemable),
		PointsRequired: coupon.Set[int64](40),
	})
	require.NoError(t, err)
	if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); !errors.Is(err, coupon.ErrPointsNotRedeemed) {
		t.Errorf("validate: %v, want points_not_redeemed", err)
	}
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrPointsNotRedeemed) {
		t.Errorf("a new checkout: %v, want points_not_redeemed", err)
	}
	require.NoError(t, w.fake.Pay(first.Session.ID), "the checkout that was begun before stays")
}

// TestAnOlderPlaceThatCostNoPointsDoesNotHideOneThatDid: the coupon has come to cost points,
// and the customer has bought it while an older place without points is in a session.
func TestAnOlderPlaceThatCostNoPointsDoesNotHideOneThatDid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twice := tenOff()
	twice.MaxUsesPerUser = coupon.Set(2)
	c := w.create(t, twice)
	first := w.checkout(t, w.request("TEN"))
	c, err := w.Update(t.Context(), c.ID, coupon.Patch{
		Distribution:   coupon.Set(coupon.PointsRedeemable),
		PointsRequired: coupon.Set[int64](40),
	})
	require.NoError(t, err)
	w.pass(time.Minute)
	reserved := w.exchange(t, c)
	second := w.checkout(t, w.request("TEN"))
	require.Equal(t, reserved.ID, second.Uses[0].ExchangeID)
	require.NoError(t, w.fake.Pay(first.Session.ID), "the checkout that was begun before stays")
}

// TestACodeThatReadsLikeAnID holds contract 4.2: the ID first, else the code.
func TestACodeThatReadsLikeAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.Code = "cpn_ten"
	c := w.create(t, d)
	for _, typed := range []string{"CPN_TEN", "Cpn_Ten", "cpn_ten", " cpn_ten ", c.ID} {
		if v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: typed, Customer: ann}); err != nil || v.CouponID != c.ID {
			t.Errorf("%q is %s, %v; want %s", typed, v.CouponID, err, c.ID)
		}
	}
	for _, unknown := range []string{"cpn_eleven", "cpn_\u00e9"} {
		if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: unknown, Customer: ann}); !errors.Is(err, coupon.ErrNotFound) {
			t.Errorf("%q: %v, want coupon_not_found", unknown, err)
		}
	}
}

// TestAKeyThatIsRepeatedTooLateForASession: the first answer was lost before there was a
// session, and there is no time left for one.
func TestAKeyThatIsRepeatedTooLateForASession(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{
		"less is left than a session needs": 35 * time.Minute, "nothing is left": 61 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, processor.Abilities{MinSessionLifetime: 30 * time.Minute},
				couponkit.WithSessionLifetime(time.Hour))
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
			r := w.request("")
			r.Key = "cart-1"
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, couponkit.ErrUnavailable)
			w.pass(later)
			for range 2 {
				_, err := w.Checkout(t.Context(), r)
				if !errors.Is(err, couponkit.ErrOrderEnded) || errors.Is(err, validation.ErrInvalid) {
					t.Errorf("got %v, want ErrOrderEnded alone", err)
				}
			}
		})
	}
}

// TestAPaymentIsFlaggedWithTheFirstReason: the record has the others.
func TestAPaymentIsFlaggedWithTheFirstReason(t *testing.T) {
	t.Parallel()
	for charged, want := range map[int64]couponkit.Flag{
		24_90: couponkit.FlagOverLimit, 24_00: couponkit.FlagAmountMismatch,
	} {
		w := newWorld(t)
		d := tenOff()
		d.MaxUses = coupon.Set(1)
		w.create(t, d)
		late := w.checkout(t, w.request("TEN"))
		event := processor.Event{
			ID: "evt_1", Type: processor.Expired, SessionID: late.Session.ID,
			Metadata: map[string]string{processor.MetadataOrderID: late.Order.ID},
		}
		require.NoError(t, w.handle(t.Context(), event))
		w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: bob})
		event.Type, event.PaymentStatus, event.Total, event.Currency = processor.Completed, processor.Paid, charged, pricing.EUR()
		got, err := w.HandleEvent(t.Context(), event)
		require.NoError(t, err)
		if got.Flag != want || !got.Uses[0].OverLimit || got.Uses[0].State != redemption.Completed {
			t.Errorf("charged %d: flag %q, redemption %+v; want flag %q and over the limit", charged, got.Flag, got.Uses[0], want)
		}
		if last := w.attempts[len(w.attempts)-1]; last.Flag != want {
			t.Errorf("charged %d: the observer has flag %q, want %q", charged, last.Flag, want)
		}
	}
}

// TestPointsThatPayForOneOrder: the customer pays two orders of one exchange. The second payment
// is flagged, for its points have gone to the first.
func TestPointsThatPayForOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 40
	d.MaxUses, d.MaxUsesPerUser = coupon.Clear[int](), coupon.Clear[int]()
	w.exchange(t, w.create(t, d))
	old := w.checkout(t, w.again("old"))
	successor := w.checkout(t, w.again("new"))
	require.Equal(t, old.Order.ID, successor.Order.Replaces)
	for _, test := range []struct {
		paid couponkit.Checkout
		want couponkit.Flag
	}{{successor, couponkit.FlagNone}, {old, couponkit.FlagPointsRefunded}} {
		got, err := w.HandleEvent(t.Context(), w.event(test.paid, processor.Completed, processor.Paid))
		require.NoError(t, err)
		require.Equal(t, []any{redemption.OrderPaid, test.want}, []any{got.Order.State, got.Flag})
	}
}

// TestAHandOverThatStopsIsObserved: the observer is told of the coupon and of the new order.
func TestAHandOverThatStopsIsObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("again"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	stored, err := w.orderByKey("again")
	require.NoError(t, err)
	if got := w.attempts[len(w.attempts)-1]; got.OrderID != stored.ID || got.CouponID != c.ID {
		t.Errorf("got %+v", got)
	}
}

// TestALinkIsObservedAsOne, whatever it sells.
func TestALinkIsObservedAsOne(t *testing.T) {
	t.Parallel()
	for _, mode := range []couponkit.LinkMode{couponkit.SubscriptionLink, couponkit.ProductLink} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		w.attempts = nil
		r := w.link("TEN")
		r.Mode, r.Cart = mode, phones()
		got, err := w.PaymentLink(t.Context(), r)
		require.NoError(t, err)
		want := []couponkit.Attempt{{
			Operation: couponkit.OpPaymentLink, CouponID: c.ID, CustomerID: ann.ID,
			OrderID: got.Order.ID, SessionID: got.Session.ID, At: w.now,
		}}
		if diff := cmp.Diff(want, w.attempts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

// TestALinkOfNoModeIsObserved: the observer is told of every attempt.
func TestALinkOfNoModeIsObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: couponkit.CheckoutRequest{Customer: eligibility.Customer{ID: ann.ID}}, Mode: 9,
	})
	require.ErrorIs(t, err, validation.ErrInvalid)
	if len(w.attempts) != 1 || w.attempts[0].Operation != couponkit.OpPaymentLink || w.attempts[0].CustomerID != ann.ID {
		t.Errorf("observed %+v", w.attempts)
	}
}

// TestAFreeReservationBesideAnOrderInFlight: a reservation that an order of another
// checkout is about to use is left to it while there is one that nobody uses.
func TestAFreeReservationBesideAnOrderInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, several())
	w.exchange(t, c)
	first := w.request("TEN")
	first.Key = "first"
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), first)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	w.pass(time.Second)
	free := w.exchange(t, c)
	if second := w.checkout(t, w.request("TEN")); second.Uses[0].ExchangeID != free.ID {
		t.Errorf("the second checkout has reservation %s, want the free one, %s", second.Uses[0].ExchangeID, free.ID)
	}
	if again := w.checkout(t, first); again.Uses[0].ExchangeID == free.ID || again.Session.ID == "" {
		t.Errorf("the first checkout, repeated: %+v", again)
	}
}

// forgetful is a processor that knows no session any more.
type forgetful struct{ *fakeprocessor.Processor }

func (forgetful) ExpireSession(context.Context, string) (processor.Session, error) {
	return processor.Session{}, processor.ErrNotFound
}

func (forgetful) Session(context.Context, string) (processor.Session, error) {
	return processor.Session{}, processor.ErrNotFound
}

// TestASessionThatTheProcessorHasForgotten has ended: nobody can pay it.
func TestASessionThatTheProcessorHasForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exchange(t, w.create(t, forPoints()))
	first := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, couponkit.WithProcessor(forgetful{w.fake}), couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	second, err := service.Checkout(t.Context(), w.request("TEN"))
	require.NoError(t, err)
	require.Equal(t, first.Uses[0].ExchangeID, second.Uses[0].ExchangeID)
}

// stubborn is a processor that ends no session, and does not say so.
type stubborn struct{ *fakeprocessor.Processor }

func (p stubborn) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return p.Session(ctx, id)
}

// TestASessionThatDoesNotEnd: a session that is open after it was told to end is no
// payment that is on its way, and nobody is told that the coupon is used up.
func TestASessionThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, couponkit.WithProcessor(stubborn{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = service.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, processor.ErrUnavailable)
	require.Equal(t, []string{first.Session.ID}, w.payable(), "there is no second session")
	w.held(t, c.ID, 0, 1)
	w.pass(2 * time.Hour)
	w.deliver(t)
	_, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if n := w.get(t, c.ID).ReservedCount; n != 0 {
		t.Errorf("%d reservations of a session that has expired", n)
	}
}
