package couponkit_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
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
	service, err := couponkit.New(on, hasty{w.fake, hear}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	return service
}

// TestAnExpiryThatIsFasterThanTheTakeOver holds contract 5.3: the reservation moves to
// the new session, also when the webhook of any process hears of the old one's end first.
func TestAnExpiryThatIsFasterThanTheTakeOver(t *testing.T) {
	t.Parallel()
	lastUse := tenOff()
	lastUse.MaxUses = coupon.Set[int64](1)
	for name, draft := range map[string]coupon.Draft{"the last use": lastUse, "for points": forPoints()} {
		for _, hears := range []string{"this process", "another process"} {
			t.Run(name+", "+hears, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				this := w.hastyService(t, w.store, func() { w.deliver(t) })
				c := w.create(t, draft)
				if c.Distribution == coupon.PointsRedeemable {
					w.exchange(t, c)
				}
				points := w.ledger.Balance(ann.ID)
				first := w.checkout(t, w.request("TEN"))
				if hears == "this process" {
					w.Service = this
				}
				second, err := this.Checkout(t.Context(), w.request("TEN"))
				require.NoError(t, err)
				if second.Replayed {
					t.Error("a new attempt is told to be a replay")
				}
				if first.Order.ReservationID != second.Order.ReservationID {
					t.Errorf("the second checkout has reservation %s, want the first one's, %s",
						second.Order.ReservationID, first.Order.ReservationID)
				}
				w.wantBalance(t, points)
				require.NoError(t, w.fake.Pay(second.Session.ID))
				w.deliver(t)
				if got := w.get(t, c.ID); got.UsedCount != 1 || got.ReservedCount != 0 {
					t.Errorf("counts are %d used and %d reserved, want 1 and 0", got.UsedCount, got.ReservedCount)
				}
			})
		}
	}
}

// takeOverTime is how long a checkout has for a take-over (contract 5.3).
const takeOverTime = 5 * time.Minute

// TestATakeOverThatDoesNotCome: an expiry has left the reservation to a checkout that then
// stops. Place and points are kept until the checkout would have had them, and no longer.
func TestATakeOverThatDoesNotCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	reserved := w.exchange(t, c)
	w.checkout(t, w.request("TEN"))
	down := &refusal{call: "TakeOver", err: errDown}
	open := simulation.Store{Inner: w.store, Gate: func(call string, effect func() error) error { return down.gate(call, effect) }}
	stopping := w.hastyService(t, open, func() { w.deliver(t) })
	r := w.request("TEN")
	r.Key = "again"
	for range 2 {
		_, err := stopping.Checkout(t.Context(), r)
		require.ErrorIs(t, err, errDown)
	}
	w.wantBalance(t, 40)

	t.Run("and comes late", func(t *testing.T) {
		down = nil
		w.pass(takeOverTime - time.Microsecond)
		report, err := w.Sweep(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, report)
		third, err := stopping.Checkout(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, reserved.ID, third.Order.ReservationID)
		w.wantBalance(t, 40)
	})

	t.Run("and never comes", func(t *testing.T) {
		down = &refusal{call: "TakeOver", err: errDown}
		_, err := stopping.Checkout(t.Context(), w.request("TEN"))
		require.ErrorIs(t, err, errDown)
		w.pass(takeOverTime)
		report, err := w.Sweep(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, couponkit.SweepReport{Released: 1, Refunded: 1}, report)
		w.wantBalance(t, 100)
	})
}

// TestATakeOverThatTheCouponRefuses: the coupon was switched off while the session ended.
// Place and points are given back at once, or by the sweep.
func TestATakeOverThatTheCouponRefuses(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, forPoints())
		w.exchange(t, c)
		first := w.checkout(t, w.request("TEN"))
		gate := refusal{call: "Transition", skip: 1, err: errDown}
		open := simulation.Store{Inner: w.store, Gate: func(call string, effect func() error) error {
			if down {
				return gate.gate(call, effect)
			}
			return effect()
		}}
		service := w.hastyService(t, open, func() {
			_, err := w.SetActive(t.Context(), c.ID, false)
			require.NoError(t, err)
			w.deliver(t)
		})
		_, err := service.Checkout(t.Context(), w.request("TEN"))
		require.ErrorIs(t, err, coupon.ErrInactive)
		if down {
			w.wantBalance(t, 40)
			w.pass(takeOverTime)
			_, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
		}
		w.wantBalance(t, 100)
		require.Equal(t, store.OrderCancelled, w.order(t, first.Order.ID).State)
		require.Zero(t, w.get(t, c.ID).ReservedCount)
	}
}

// TestPointsOutsideACheckoutAreNotGivenBack: the coupon is switched off before the checkout
// has them, and may be switched on again.
func TestPointsOutsideACheckoutAreNotGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	reserved := w.exchange(t, c)
	whole := w.Service
	w.behind(func(call string, effect func() error) error {
		if call == "TakeOver" {
			_, err := whole.SetActive(t.Context(), c.ID, false)
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)))
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrInactive)
	w.wantBalance(t, 40)
	held, err := whole.Reservations(t.Context(), ann.ID)
	require.NoError(t, err)
	require.Equal(t, []redemption.Redemption{reserved}, held)
}

// TestAReservationThatIsPaidBeforeItLeaves: the checkout decides again with the new figures.
func TestAReservationThatIsPaidBeforeItLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lastUse := tenOff()
	lastUse.MaxUses = coupon.Set[int64](1)
	w.create(t, lastUse)
	first := w.checkout(t, w.request("TEN"))
	whole := w.Service
	w.behind(func(call string, effect func() error) error {
		if call == "Transition" {
			_, err := whole.HandleEvent(t.Context(), w.event(first, processor.Completed, processor.Paid))
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)))
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
}

// TestASessionIsNotEndedBeforeTheStoreKnows: were it ended, an expiry would give the
// reservation away.
func TestASessionIsNotEndedBeforeTheStoreKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exchange(t, w.create(t, forPoints()))
	first := w.checkout(t, w.request("TEN"))
	whole := w.Service
	down := refusal{call: "Transition", err: errDown}
	w.behind(down.gate, couponkit.WithClock(clockOf(w)))
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, errDown)
	require.NoError(t, w.fake.Pay(first.Session.ID))
	w.Service = whole
	w.deliver(t)
	require.Equal(t, store.OrderPaid, w.order(t, first.Order.ID).State)
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

// TestACustomerWhoRetriesBesideTheWebhook: whatever comes first, and to whichever process,
// his points are spent once and the place is his.
func TestACustomerWhoRetriesBesideTheWebhook(t *testing.T) {
	t.Parallel()
	for _, hears := range []string{"this process", "another process"} {
		t.Run(hears, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other := w.Service
			service, err := couponkit.New(w.store, w.fake, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
			require.NoError(t, err)
			w.Service = service
			c := w.create(t, forPoints())
			reserved := w.exchange(t, c)
			hearing := map[string]*couponkit.Service{"this process": service, "another process": other}[hears]
			handler := fakeprocessor.Serve(w.fake.Handler(hearing.Webhook(nil)))
			delivering, stop := context.WithCancel(t.Context())
			var webhook sync.WaitGroup
			defer webhook.Wait()
			defer stop()
			webhook.Go(func() {
				for delivering.Err() == nil {
					if err := w.fake.Deliver(delivering, handler); err != nil && delivering.Err() == nil {
						t.Errorf("deliver: %v", err)
					}
					runtime.Gosched()
				}
			})
			for range 500 {
				if got := w.checkout(t, w.request("TEN")); got.Order.ReservationID != reserved.ID {
					t.Fatalf("the checkout has reservation %s, want %s", got.Order.ReservationID, reserved.ID)
				}
			}
			w.wantBalance(t, 40)
		})
	}
}

// interrupting is a store that lets another call go first, between the first look for
// the key and the look-up of the coupon.
type interrupting struct {
	store.Store
	first func()
}

func (s *interrupting) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
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
			service, err := couponkit.New(slow, w.fake, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
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
	twice.MaxUsesPerUser = coupon.Set[int64](2)
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
	require.Equal(t, reserved.ID, second.Order.ReservationID)
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
				if !errors.Is(err, couponkit.ErrOrderEnded) || errors.Is(err, pricing.ErrInvalid) {
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
		d.MaxUses = coupon.Set[int64](1)
		w.create(t, d)
		late := w.checkout(t, w.request("TEN"))
		event := processor.Event{
			ID: "evt_1", Type: processor.Expired, SessionID: late.Session.ID,
			Metadata: map[string]string{processor.MetadataOrderID: late.Order.ID},
		}
		require.NoError(t, w.handle(t.Context(), event))
		w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Code: "TEN", Customer: bob})
		event.Type, event.PaymentStatus, event.Total, event.Currency = processor.Completed, processor.Paid, charged, pricing.EUR()
		got, err := w.HandleEvent(t.Context(), event)
		require.NoError(t, err)
		if got.Flag != want || !got.Redemption.OverLimit || got.Redemption.State != redemption.Completed {
			t.Errorf("charged %d: flag %q, redemption %+v; want flag %q and over the limit", charged, got.Flag, got.Redemption, want)
		}
		if last := w.attempts[len(w.attempts)-1]; last.Flag != want {
			t.Errorf("charged %d: the observer has flag %q, want %q", charged, last.Flag, want)
		}
	}
}

// TestACheckoutThatCouldNotTakeOverIsObserved: the observer is told of the coupon, and of
// no order that was never stored.
func TestACheckoutThatCouldNotTakeOverIsObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	if got := w.attempts[len(w.attempts)-1]; got.OrderID != "" || got.CouponID != c.ID {
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
	require.ErrorIs(t, err, pricing.ErrInvalid)
	if len(w.attempts) != 1 || w.attempts[0].Operation != couponkit.OpPaymentLink || w.attempts[0].CustomerID != ann.ID {
		t.Errorf("observed %+v", w.attempts)
	}
}

// TestTermsChangeBeforeTheTakeOver holds contract 5.3: whatever of the coupon's terms
// refuses the checkout once the session has ended, the reservation is given up.
func TestTermsChangeBeforeTheTakeOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(w *world, c coupon.Coupon) error
		want   error
		kept   bool
	}{
		"a minimum purchase": {func(w *world, c coupon.Coupon) error {
			_, err := w.Update(t.Context(), c.ID, coupon.Patch{MinPurchase: coupon.Set(decimal.NewFromInt(1000))})
			return err
		}, coupon.ErrMinimumPurchaseNotMet, false},
		"another scope": {func(w *world, c coupon.Coupon) error {
			_, err := w.Update(t.Context(), c.ID, coupon.Patch{AppliesTo: coupon.Set(coupon.Subscription)})
			return err
		}, coupon.ErrNoEligibleItems, false},
		"a mirror that is being written": {func(w *world, c coupon.Coupon) error {
			changed, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
			return errors.Join(err, w.fake.TamperDeactivate(changed.Mirror))
		}, coupon.ErrProcessorOutOfSync, true},
		"other totals are the customer's to accept": {func(w *world, c coupon.Coupon) error {
			_, err := w.Update(t.Context(), c.ID, coupon.Patch{AppliesTo: coupon.Set(coupon.Specific), DeviceIDs: coupon.Set([]string{"cable"})})
			return err
		}, coupon.ErrCartTotalsInvalid, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, forPoints())
			w.exchange(t, c)
			r := w.request("TEN")
			if test.kept {
				r.Cart.Lines = append(r.Cart.Lines, pricing.Line{ID: "C", Kind: pricing.Device, ItemID: "cable", Quantity: 1, UnitPrice: 5_00})
				r.Expected = &couponkit.Totals{Subtotal: 35_00, Discount: 10_00, Shipping: 4_90, Total: 29_90}
			}
			w.checkout(t, r)
			service := w.hastyService(t, w.store, func() {
				require.NoError(t, test.change(w, c))
				w.deliver(t)
			})
			r.Key = ""
			_, err := service.Checkout(t.Context(), r)
			require.ErrorIs(t, err, test.want)
			if reserved := w.get(t, c.ID).ReservedCount; (reserved == 1) != test.kept {
				t.Errorf("%d reservations after a checkout that is refused", reserved)
			}
			if !test.kept {
				w.wantBalance(t, 100)
			}
		})
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
	if second := w.checkout(t, w.request("TEN")); second.Order.ReservationID != free.ID {
		t.Errorf("the second checkout has reservation %s, want the free one, %s", second.Order.ReservationID, free.ID)
	}
	if again := w.checkout(t, first); again.Order.ReservationID == free.ID || again.Session.ID == "" {
		t.Errorf("the first checkout, repeated: %+v", again)
	}
}

// TestWhatIsRefusedEndsNoSession: a checkout that no processor and no store would take
// does not end the session that the customer can pay.
func TestWhatIsRefusedEndsNoSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*couponkit.CheckoutRequest)
		want  error
	}{
		"the key of an exchange": {func(r *couponkit.CheckoutRequest) { r.Key = "exchange" }, store.ErrKeyReused},
		"too many lines": {func(r *couponkit.CheckoutRequest) {
			for _, id := range []string{"B", "C", "D"} {
				r.Cart.Lines = append(r.Cart.Lines, pricing.Line{ID: id, Kind: pricing.Device, ItemID: id, Quantity: 1, UnitPrice: 10_00})
			}
		}, pricing.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, processor.Abilities{MaxLines: 4})
			c := w.create(t, forPoints())
			_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "exchange", Coupon: c.ID, Customer: ann})
			require.NoError(t, err)
			first := w.checkout(t, w.request("TEN"))
			r := w.request("TEN")
			test.spoil(&r)
			_, err = w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, test.want)
			require.NoError(t, w.fake.Pay(first.Session.ID), "the session that is open")
		})
	}
}

// TestAKeyOfAnyExchangeEndsNoSession: nor does one whose reservation was given up, or that
// is of another coupon.
func TestAKeyOfAnyExchangeEndsNoSession(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(w *world, c coupon.Coupon) redemption.Redemption{
		"given up": func(w *world, c coupon.Coupon) redemption.Redemption {
			r, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "k", Coupon: c.ID, Customer: ann})
			require.NoError(t, err)
			require.NoError(t, w.CancelExchange(t.Context(), ann.ID, r.ID))
			return r
		},
		"of another coupon": func(w *world, _ coupon.Coupon) redemption.Redemption {
			d := forPoints()
			d.Code = "OTHER"
			r, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "k", Coupon: w.create(t, d).ID, Customer: ann})
			require.NoError(t, err)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ledger.Credit(ann.ID, 1000)
			c := w.create(t, forPoints())
			use(w, c)
			w.exchange(t, c)
			first := w.checkout(t, w.request("TEN"))
			r := w.request("TEN")
			r.Key = "k"
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, store.ErrKeyReused)
			require.NoError(t, w.fake.Pay(first.Session.ID), "the session that is open")
		})
	}
}

// TestAPlaceThatIsNotTakenOver: the limit was raised while the session ended, and the
// checkout has a place of its own. The one that it would have taken over is free at once.
func TestAPlaceThatIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses, d.MaxUsesPerUser = coupon.Set[int64](1), coupon.Clear[int64]()
	c := w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	service := w.hastyService(t, w.store, func() {
		_, err := w.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set[int64](2)})
		require.NoError(t, err)
		w.deliver(t)
	})
	second, err := service.Checkout(t.Context(), w.request("TEN"))
	require.NoError(t, err)
	require.NotEqual(t, first.Order.ReservationID, second.Order.ReservationID)
	require.EqualValues(t, 1, w.get(t, c.ID).ReservedCount)
	require.Equal(t, store.OrderCancelled, w.order(t, first.Order.ID).State)
}

// forgetful is a processor that knows no session any more.
type forgetful struct{ *fakeprocessor.Processor }

func (forgetful) ExpireSession(context.Context, string) (processor.Session, error) {
	return processor.Session{}, processor.ErrNotFound
}

// TestASessionThatTheProcessorHasForgotten has ended: nobody can pay it.
func TestASessionThatTheProcessorHasForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exchange(t, w.create(t, forPoints()))
	first := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, forgetful{w.fake}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	second, err := service.Checkout(t.Context(), w.request("TEN"))
	require.NoError(t, err)
	require.Equal(t, first.Order.ReservationID, second.Order.ReservationID)
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
	d.MaxUses = coupon.Set[int64](1)
	c := w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, stubborn{w.fake}, couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = service.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, processor.ErrUnavailable)
	if state := w.order(t, first.Order.ID).State; state != store.OrderOpen {
		t.Errorf("the order in the session is %s", state)
	}
	w.pass(2 * time.Hour)
	w.deliver(t)
	_, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if n := w.get(t, c.ID).ReservedCount; n != 0 {
		t.Errorf("%d reservations of a session that has expired", n)
	}
}
