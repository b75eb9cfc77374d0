package couponkit_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

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

// withHastyProcessor gives the world a service whose processor is hasty.
func (w *world) withHastyProcessor(t *testing.T) {
	t.Helper()
	service, err := couponkit.New(w.store, hasty{w.fake, func() { w.deliver(t) }},
		couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	w.Service = service
}

// TestAnExpiryThatIsFasterThanTheTakeOver holds contract 5.3: the reservation moves to
// the new session, also when the webhook hears of the old one's end first.
func TestAnExpiryThatIsFasterThanTheTakeOver(t *testing.T) {
	t.Parallel()
	lastUse := tenOff()
	lastUse.MaxUses = coupon.Set[int64](1)
	for name, draft := range map[string]coupon.Draft{"the last use": lastUse, "for points": forPoints()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.withHastyProcessor(t)
			c := w.create(t, draft)
			if c.Distribution == coupon.PointsRedeemable {
				w.exchange(t, c)
			}
			points := w.ledger.Balance(ann.ID)
			first := w.checkout(t, w.request("TEN"))
			second := w.checkout(t, w.request("TEN"))
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

// TestAnExpiryThatAnotherProcessHears holds the last sentence of contract 5.3: it gives the
// reservation away before the checkout has moved it, which then decides again; points are
// refunded once, and the place of a coupon without points is reserved anew.
func TestAnExpiryThatAnotherProcessHears(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]coupon.Draft{"general": tenOff(), "for points": forPoints()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, draft)
			forPoints := c.Distribution == coupon.PointsRedeemable
			if forPoints {
				w.exchange(t, c)
			}
			first, other := w.checkout(t, w.request("TEN")), w.Service
			service, err := couponkit.New(w.store, hasty{w.fake, func() {
				_, err := other.HandleEvent(t.Context(), w.event(first, processor.Expired, processor.Unpaid))
				require.NoError(t, err)
			}}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
			require.NoError(t, err)
			second, err := service.Checkout(t.Context(), w.request("TEN"))
			if forPoints {
				require.ErrorIs(t, err, coupon.ErrPointsNotRedeemed)
			} else {
				require.NoError(t, err)
				require.NotEqual(t, first.Order.ReservationID, second.Order.ReservationID)
			}
			w.wantBalance(t, 100)
			want := int64(1)
			if forPoints {
				want = 0
			}
			require.Equal(t, want, w.get(t, c.ID).ReservedCount)
		})
	}
}

// TestAnExpiryThatCannotMoveTheReservation: where the store fails the event is delivered
// again, and has not given away what the checkout goes on with; where the coupon was
// switched off meanwhile it is an expiry as ever.
func TestAnExpiryThatCannotMoveTheReservation(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{true, false} {
		w := newWorld(t)
		c := w.create(t, forPoints())
		reserved := w.exchange(t, c)
		first := w.checkout(t, w.request("TEN"))
		handled := error(nil)
		gate := refusal{call: "TakeOver", err: errDown}
		open := simulation.Store{Inner: w.store, Gate: func(call string, effect func() error) error {
			if down && handled == nil {
				return gate.gate(call, effect)
			}
			return effect()
		}}
		expired := w.event(first, processor.Expired, processor.Unpaid)
		var service *couponkit.Service
		service, err := couponkit.New(open, hasty{w.fake, func() {
			if !down {
				_, err := w.SetActive(t.Context(), c.ID, false)
				require.NoError(t, err)
			}
			_, handled = service.HandleEvent(t.Context(), expired)
		}}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
		require.NoError(t, err)
		got, err := service.Checkout(t.Context(), w.request("TEN"))
		if down {
			require.ErrorIs(t, handled, errDown)
			require.NoError(t, err)
			require.Equal(t, reserved.ID, got.Order.ReservationID)
			require.NoError(t, w.handle(t.Context(), expired))
			w.wantBalance(t, 40)
			continue
		}
		require.NoError(t, handled)
		require.ErrorIs(t, err, coupon.ErrInactive)
		w.wantBalance(t, 100)
	}
}

// moves counts the take-overs that its store is asked for.
type moves struct {
	store.Store
	count int
}

func (s *moves) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	s.count++
	return s.Store.TakeOver(ctx, t)
}

// TestAnExpiryOfALaterTime: the move is over, and an expiry is one as ever.
func TestAnExpiryOfALaterTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counting := &moves{Store: w.store}
	w.store = counting
	w.withHastyProcessor(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	second := w.checkout(t, w.request("TEN"))
	before := counting.count
	expired := processor.Event{ID: "evt_again", Type: processor.Expired, SessionID: first.Session.ID}
	require.NoError(t, w.handle(t.Context(), expired))
	if counting.count != before {
		t.Error("an expiry that comes again moves the reservation again")
	}
	_, err := w.fake.ExpireSession(t.Context(), second.Session.ID)
	require.NoError(t, err)
	w.deliver(t)
	if got := w.get(t, c.ID); got.ReservedCount != 0 {
		t.Errorf("%d places are kept, want none", got.ReservedCount)
	}
}

// TestACustomerWhoRetriesBesideTheWebhook: whatever comes first, his points are spent once
// and the place is his.
func TestACustomerWhoRetriesBesideTheWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, w.fake, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	w.Service = service
	c := w.create(t, forPoints())
	reserved := w.exchange(t, c)
	delivering, stop := context.WithCancel(t.Context())
	var webhook sync.WaitGroup
	defer webhook.Wait()
	defer stop()
	handler := fakeprocessor.Serve(w.fake.Handler(w.handle))
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
	if _, err := w.Validate(t.Context(), "TEN", ann); !errors.Is(err, coupon.ErrPointsNotRedeemed) {
		t.Errorf("validate: %v, want points_not_redeemed", err)
	}
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrPointsNotRedeemed) {
		t.Errorf("a new checkout: %v, want points_not_redeemed", err)
	}
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
		if v, err := w.Validate(t.Context(), typed, ann); err != nil || v.CouponID != c.ID {
			t.Errorf("%q is %s, %v; want %s", typed, v.CouponID, err, c.ID)
		}
	}
	for _, unknown := range []string{"cpn_eleven", "cpn_\u00e9"} {
		if _, err := w.Validate(t.Context(), unknown, ann); !errors.Is(err, coupon.ErrNotFound) {
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
