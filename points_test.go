package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// forPoints is a draft of 10 EUR off for 60 points, of which Ann has 100.
func forPoints() coupon.Draft {
	d := tenOff()
	d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 60
	return d
}

func (w *world) exchange(t *testing.T, c coupon.Coupon) redemption.Use {
	t.Helper()
	r, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	require.NoError(t, err)
	return r
}

func (w *world) wantBalance(t *testing.T, want int64) {
	t.Helper()
	if got := w.ledger.Balance(ann.ID); got != want {
		t.Errorf("the balance is %d, want %d", got, want)
	}
}

// TestPointsAreExchangedForAPlace holds specification 2.3 and 3.2 from the exchange
// to the payment.
func TestPointsAreExchangedForAPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrPointsNotRedeemed) {
		t.Errorf("before the exchange: %v, want points_not_redeemed", err)
	}
	held := w.exchange(t, c)
	if held.State != redemption.Reserved || held.PointsState != redemption.PointsDebited || !held.Deadline.IsZero() || held.Points != 60 {
		t.Errorf("the reservation is %+v", held)
	}
	w.wantBalance(t, 40)
	if again := w.exchange(t, c); again.ID != held.ID {
		t.Errorf("a second exchange made reservation %s", again.ID)
	}
	w.wantBalance(t, 40)
	if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); err != nil {
		t.Errorf("after the exchange: %v", err)
	}
	list, err := w.Exchanges(t.Context(), ann.ID)
	require.NoError(t, err)
	if len(list) != 1 || list[0].ID != held.ID {
		t.Errorf("reservations are %+v", list)
	}
	got := w.checkout(t, w.request("TEN"))
	if got.Uses[0].ExchangeID != held.ID {
		t.Errorf("the checkout uses %s, not the reservation %s", got.Uses[0].ExchangeID, held.ID)
	}
	require.NoError(t, w.fake.Pay(got.Session.ID))
	outcomes := w.deliver(t)
	if o := outcomes[0].Uses[0]; o.ExchangeID != held.ID || o.State != redemption.Completed || o.OrderID != got.Order.ID {
		t.Errorf("the redemption is %+v", o)
	}
	w.wantBalance(t, 40)
	if after := w.get(t, c.ID); after.UsedCount != 1 || after.ReservedCount != 0 {
		t.Errorf("counts are %d used and %d reserved, want 1 and 0", after.UsedCount, after.ReservedCount)
	}
}

// TestPointsComeBackOnce holds specification 3.2: the session expires, the points
// are refunded and the reservation is gone.
func TestPointsComeBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	w.exchange(t, c)
	got := w.checkout(t, w.request("TEN"))
	for range 2 {
		o, err := w.HandleEvent(t.Context(), w.event(got, processor.Expired, processor.Unpaid))
		require.NoError(t, err)
		if o.Uses[0].State != redemption.Released || o.Uses[0].PointsState != redemption.PointsRefunded {
			t.Errorf("the redemption is %+v", o.Uses[0])
		}
		w.wantBalance(t, 100)
	}
	if after := w.get(t, c.ID); after.ReservedCount != 0 {
		t.Errorf("%d reservations, want 0", after.ReservedCount)
	}
	late, err := w.HandleEvent(t.Context(), w.event(got, processor.Completed, processor.Paid))
	require.NoError(t, err)
	if late.Uses[0].State != redemption.Completed || late.Flag != couponkit.FlagPointsRefunded {
		t.Errorf("a payment after the refund: %+v", late)
	}
	w.wantBalance(t, 100)
}

func TestTooFewPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := forPoints()
	d.PointsRequired = 101
	c := w.create(t, d)
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: "ten", Customer: ann})
	var refused *coupon.Rejection
	if !errors.As(err, &refused) || refused.Headline().Params.PointsRequired != 101 || !errors.Is(err, couponkit.ErrInsufficientPoints) {
		t.Errorf("got %v, want points_not_redeemed and ErrInsufficientPoints", err)
	}
	w.wantBalance(t, 100)
	if after := w.get(t, c.ID); after.ReservedCount != 0 {
		t.Errorf("%d reservations, want 0", after.ReservedCount)
	}
}

// TestAKeyOfAnExchangeThatWasGivenUp: repeating it is no reservation, for which somebody
// would take an answer without an error; a new key makes one.
func TestAKeyOfAnExchangeThatWasGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := forPoints()
	d.PointsRequired = 101
	c := w.create(t, d)
	exchange := func(key string) (redemption.Use, error) {
		return w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: key, Coupon: c.ID, Customer: ann})
	}
	if _, err := exchange("first"); !errors.Is(err, couponkit.ErrInsufficientPoints) {
		t.Errorf("too few points: %v", err)
	}
	w.ledger.Credit(ann.ID, 50)
	if r, err := exchange("first"); !errors.Is(err, couponkit.ErrReservationClosed) || r.ID != "" {
		t.Errorf("the same key: %+v, %v; want ErrReservationClosed", r, err)
	}
	w.wantBalance(t, 150)
	if r, err := exchange("second"); err != nil || r.State != redemption.Reserved || r.PointsState != redemption.PointsDebited {
		t.Errorf("a new key: %+v, %v", r, err)
	}
	w.wantBalance(t, 49)
}

// TestAKeyOfAnExchangeThatIsInACheckout: repeating it is the first answer, also where
// the customer has no further use.
func TestAKeyOfAnExchangeThatIsInACheckout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	again := couponkit.ExchangeRequest{Key: "first", Coupon: c.ID, Customer: ann}
	first, err := w.ExchangePoints(t.Context(), again)
	require.NoError(t, err)
	w.checkout(t, w.request("TEN"))
	if r, err := w.ExchangePoints(t.Context(), again); err != nil || r.ExchangeID != first.ID {
		t.Errorf("the same key: %+v, %v; want reservation %s", r, err, first.ID)
	}
	w.wantBalance(t, 40)
	again.Key = "second"
	if r, err := w.ExchangePoints(t.Context(), again); !errors.Is(err, coupon.ErrUserUsageLimitReached) {
		t.Errorf("another key: %+v, %v; want user_usage_limit_reached", r, err)
	}
	w.wantBalance(t, 40)
}

// TestAKeyOfAnExchangeThatNobodyCouldMakeNow: it is answered with what has become of its
// reservation, and not with what a new one would be told.
func TestAKeyOfAnExchangeThatNobodyCouldMakeNow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world, coupon.Coupon){
		"the last place is taken": func(w *world, c coupon.Coupon) {
			_, err := w.ExchangePoints(w.t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: bob})
			require.NoError(w.t, err)
		},
		"switched off": func(w *world, c coupon.Coupon) {
			_, err := w.SetActive(w.t.Context(), c.ID, false)
			require.NoError(w.t, err)
		},
	} {
		w := newWorld(t)
		w.ledger.Credit(bob.ID, 100)
		d := forPoints()
		d.MaxUses = coupon.Set(1)
		c := w.create(t, d)
		exchange := func(key string) (redemption.Use, error) {
			return w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: key, Coupon: c.ID, Customer: ann})
		}
		first, err := exchange("first")
		require.NoError(t, err)
		require.NoError(t, w.CancelExchange(t.Context(), ann.ID, first.ID))
		change(w, c)
		if r, err := exchange("first"); !errors.Is(err, couponkit.ErrReservationClosed) || r.ID != "" {
			t.Errorf("%s: %+v, %v; want ErrReservationClosed", name, r, err)
		}
		var refused *coupon.Rejection
		for _, key := range []string{"second", ""} {
			if r, err := exchange(key); !errors.As(err, &refused) || r.ID != "" {
				t.Errorf("%s, key %q: %+v, %v; want a refusal", name, key, r, err)
			}
		}
		refuse := refusal{call: "ListUses", err: errDown}
		w.behind(refuse.gate, couponkit.WithClock(clockOf(w)))
		if _, err := exchange("first"); !errors.Is(err, errDown) {
			t.Errorf("%s, the store is down: %v", name, err)
		}
	}
}

// TestAKeyOfAnExchangeThatWasUsed: repeating it is the reservation that was paid with.
func TestAKeyOfAnExchangeThatWasUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	again := couponkit.ExchangeRequest{Key: "first", Coupon: c.ID, Customer: ann}
	first, err := w.ExchangePoints(t.Context(), again)
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(w.checkout(t, w.request("TEN")).Session.ID))
	w.deliver(t)
	r, err := w.ExchangePoints(t.Context(), again)
	require.NoError(t, err)
	if r.ExchangeID != first.ID || r.State != redemption.Completed {
		t.Errorf("got %+v, want %s as it is now", r, first.ID)
	}
	w.wantBalance(t, 40)
}

func TestExchangeRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: ann})
	if !errors.Is(err, validation.ErrInvalid) {
		t.Errorf("a coupon that costs no points: %v, want invalid input", err)
	}
	d := forPoints()
	d.Code, d.MaxUses = "POINTS", coupon.Set(1)
	c := w.create(t, d)
	_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: eligibility.Customer{}})
	if !errors.Is(err, coupon.ErrUserRequired) {
		t.Errorf("nobody: %v, want user_required", err)
	}
	w.ledger.Credit(bob.ID, 100)
	w.exchange(t, c)
	_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: bob})
	if !errors.Is(err, coupon.ErrUsageLimitReached) || w.ledger.Balance(bob.ID) != 100 {
		t.Errorf("the last place is taken: %v, balance %d", err, w.ledger.Balance(bob.ID))
	}
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake))
	require.NoError(t, err)
	if _, err := service.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann}); !errors.Is(err, couponkit.ErrNoLedger) {
		t.Errorf("without a ledger: %v", err)
	}
}

// TestExchangeGoesOnAfterAnyFailure: whichever call fails, the next try ends with
// one reservation and one debit, and what is never tried again is undone.
func TestExchangeGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for calls := range 6 {
		for _, after := range []bool{false, true} {
			for _, tryAgain := range []bool{true, false} {
				w, blow := newCrashingWorld(t)
				c := w.create(t, forPoints())
				blow.arm(calls, after)
				_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
				if err != nil && !errors.Is(err, errCrash) {
					t.Fatalf("stopped after %d calls: %v", calls, err)
				}
				blow.restart()
				if tryAgain || err == nil {
					w.exchange(t, c)
					w.wantBalance(t, 40)
					continue
				}
				w.pass(couponkit.DefaultExchangeTime)
				_, err = w.Sweep(t.Context(), 0)
				require.NoError(t, err)
				confirmed := w.get(t, c.ID).ReservedCount
				w.wantBalance(t, 100-60*confirmed)
			}
		}
	}
}

func TestExchangeAtManyDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithPoints(w.ledger))
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			if _, err := service.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann}); err != nil {
				t.Errorf("exchange: %v", err)
			}
		})
	}
	group.Wait()
	w.wantBalance(t, 40)
	if held := w.get(t, c.ID); held.ReservedCount != 1 {
		t.Errorf("%d reservations, want 1", held.ReservedCount)
	}
}

func TestCancelExchange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	held := w.exchange(t, c)
	if err := w.CancelExchange(t.Context(), bob.ID, held.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("somebody else's reservation: %v, want ErrNotFound", err)
	}
	if err := w.CancelExchange(t.Context(), ann.ID, "rsv_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown reservation: %v, want ErrNotFound", err)
	}
	for range 2 {
		require.NoError(t, w.CancelExchange(t.Context(), ann.ID, held.ID))
		w.wantBalance(t, 100)
	}

	held = w.exchange(t, c)
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.CancelExchange(t.Context(), ann.ID, held.ID))
	session, err := w.fake.Session(t.Context(), got.Session.ID)
	if err != nil || session.Status != processor.SessionExpired || w.order(t, got.Order.ID).State != redemption.OrderCancelled {
		t.Errorf("the open checkout is %+v, %v", session, err)
	}
	w.wantBalance(t, 100)

	held = w.exchange(t, c)
	got = w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	if err := w.CancelExchange(t.Context(), ann.ID, held.ID); !errors.Is(err, redemption.ErrIllegal) {
		t.Errorf("a paid reservation: %v, want ErrIllegal", err)
	}
	w.wantBalance(t, 40)
}

// TestSweepRepeatsARefund: a ledger that was down when the session expired.
func TestSweepRepeatsARefund(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	w.exchange(t, c)
	got := w.checkout(t, w.request("TEN"))
	blow := &fuse{}
	blow.arm(0, false)
	down, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithPoints(crashingPoints(w.ledger, blow)))
	require.NoError(t, err)
	o, err := down.HandleEvent(t.Context(), w.event(got, processor.Expired, processor.Unpaid))
	require.NoError(t, err) // the release is durable, and the refund is recorded as due
	if o.Uses[0].PointsState != redemption.PointsRefundDue {
		t.Errorf("the redemption is %+v", o.Uses[0])
	}
	w.wantBalance(t, 40)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if report.Refunded != 1 {
		t.Errorf("report is %+v", report)
	}
	w.wantBalance(t, 100)
}

// closedAccounts is a ledger that takes no refund of some customers, ever.
type closedAccounts struct {
	couponkit.Points
	closed string // the beginning of their IDs
}

func (l closedAccounts) Refund(ctx context.Context, customerID, reservationID string) error {
	if strings.HasPrefix(customerID, l.closed) {
		return errors.New("the account is closed")
	}
	return l.Points.Refund(ctx, customerID, reservationID)
}

// TestRefundsThatFailForEverStarveNobody: what is newer has its turn all the same,
// whatever the limit of the sweep.
func TestRefundsThatFailForEverStarveNobody(t *testing.T) {
	t.Parallel()
	const gone = 7
	w := newWorld(t)
	directory := directory{ann.ID: {ID: ann.ID, Email: ann.Email}}
	for i := range gone {
		id := fmt.Sprintf("gone%d", i)
		directory[id] = couponkit.User{ID: id, Email: id + "@example.org"}
		w.ledger.Credit(id, 100)
	}
	s, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now }), couponkit.WithUsers(directory),
		couponkit.WithPoints(closedAccounts{w.ledger, "gone"}))
	require.NoError(t, err)
	c := w.create(t, forPoints())
	for i := range gone {
		r, err := s.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: eligibility.Customer{ID: fmt.Sprintf("gone%d", i)}})
		require.NoError(t, err)
		require.NoError(t, w.apply(redemption.Cancelled, r.ID))
		w.pass(time.Second)
	}
	held, err := s.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	require.NoError(t, err)
	require.NoError(t, w.apply(redemption.Cancelled, held.ID))
	w.wantBalance(t, 40)

	report, err := s.Sweep(t.Context(), 2)
	require.Error(t, err)
	if want := (couponkit.SweepReport{Refunded: 1, Failed: gone}); !cmp.Equal(want, report) {
		t.Errorf("report is %+v, want %+v", report, want)
	}
	w.wantBalance(t, 100)
}

// slowLedger takes so long to debit that a sweep undoes the exchange meanwhile.
type slowLedger struct {
	couponkit.Points
	meanwhile func()
}

func (l slowLedger) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	l.meanwhile()
	return l.Points.Debit(ctx, customerID, reservationID, points)
}

// TestADebitThatArrivesTooLate: the reservation was released before the ledger
// answered. The customer keeps the points.
func TestADebitThatArrivesTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	slow, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now }),
		couponkit.WithPoints(slowLedger{w.ledger, func() {
			w.pass(couponkit.DefaultExchangeTime)
			_, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
		}}))
	require.NoError(t, err)
	_, err = slow.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	if !errors.Is(err, couponkit.ErrReservationClosed) {
		t.Errorf("got %v, want ErrReservationClosed", err)
	}
	w.wantBalance(t, 100)
	if held := w.get(t, c.ID); held.ReservedCount != 0 {
		t.Errorf("%d reservations, want 0", held.ReservedCount)
	}
}

// pending leaves a reservation of 60 points behind whose ledger did not answer, and a
// balance of 50.
func (w *world) pending(t *testing.T, c coupon.Coupon) redemption.Use {
	t.Helper()
	service := w.Service
	w.behind((&refusal{call: "Debit", err: errDown}).gate, couponkit.WithClock(clockOf(w)))
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	require.ErrorIs(t, err, errDown)
	require.NoError(t, w.ledger.Debit(t.Context(), ann.ID, "another shop", 50))
	w.Service = service
	held, err := w.Exchanges(t.Context(), ann.ID)
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, redemption.PointsPending, held[0].PointsState)
	return held[0]
}

// TestTwoExchangesOfOnePendingReservation: a call has found too few points, and before it
// gives the reservation up points arrive and another call goes on with it.
func TestTwoExchangesOfOnePendingReservation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		then func(w *world, id string) // after the other call
		want error                     // of the call that found too few
		end  redemption.State
		left int64
	}{
		"it is the customer's": {func(*world, string) {}, nil, redemption.Reserved, 90},
		"it was paid with": {func(w *world, _ string) {
			require.NoError(w.t, w.fake.Pay(w.checkout(w.t, w.request("TEN")).Session.ID))
			w.deliver(w.t)
		}, nil, redemption.Completed, 90},
		"the customer gave it up again": {func(w *world, id string) {
			require.NoError(w.t, w.CancelExchange(w.t.Context(), ann.ID, id))
		}, couponkit.ErrInsufficientPoints, redemption.Released, 150},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, forPoints())
			held := w.pending(t, c)
			again := couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann}
			other, raced := w.Service, false
			w.behind(func(call string, effect func() error) error {
				err := effect()
				if call == "Debit" && !raced {
					raced = true
					w.ledger.Credit(ann.ID, 100)
					got, err := other.ExchangePoints(t.Context(), again)
					require.NoError(t, err)
					require.Equal(t, held.ID, got.ID)
					tc.then(w, held.ID)
				}
				return err
			}, couponkit.WithClock(clockOf(w)))
			got, err := w.ExchangePoints(t.Context(), again)
			require.ErrorIs(t, err, tc.want)
			if err == nil && (got.ExchangeID != held.ID || got.State != tc.end || got.PointsState != redemption.PointsDebited) {
				t.Errorf("got %+v, want %s, %s", got, held.ID, tc.end)
			}
			require.Equal(t, tc.end, w.exchanged(t, held).State)
			w.wantBalance(t, tc.left)
		})
	}
}

// TestTooFewPointsThatCannotBeRecorded: the refusal is told all the same, and the sweep
// gives the place back.
func TestTooFewPointsThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]gate{
		"the store is down":                  (&refusal{call: "Apply points_refused", err: errDown}).gate,
		"the ledger is down":                 (&refusal{call: "Refund", err: errDown}).gate,
		"the store does not know the event":  (&refusal{call: "Apply points_refused", err: redemption.ErrIllegal}).gate,
		"and is down when it is asked again": refuseEach(map[string]error{"Apply points_refused": redemption.ErrIllegal, "ListUses": errDown}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, forPoints())
			w.pending(t, c)
			service := w.Service
			w.behind(gate, couponkit.WithClock(clockOf(w)))
			got, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
			require.ErrorIs(t, err, coupon.ErrPointsNotRedeemed)
			require.ErrorIs(t, err, couponkit.ErrInsufficientPoints)
			require.Zero(t, got)
			w.Service = service
			w.pass(couponkit.DefaultExchangeTime)
			_, err = w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Zero(t, w.get(t, c.ID).ReservedCount)
			w.wantBalance(t, 50)
		})
	}
}

// refuseEach lets none of the named calls through.
func refuseEach(errs map[string]error) gate {
	return func(call string, effect func() error) error {
		if err := errs[call]; err != nil {
			return err
		}
		return effect()
	}
}

// TestALimitBelowWhatIsHeld holds contract 4.7: a holder is refused while the uses of the
// others reach the limit. The holder keeps the reservation, and a reservation in a session
// completes.
func TestALimitBelowWhatIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.Credit(bob.ID, 100)
	d := forPoints()
	d.MaxUses = coupon.Set(2)
	c := w.create(t, d)
	w.exchange(t, c)
	ofBob, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: bob})
	require.NoError(t, err)
	first := w.checkout(t, w.request("TEN"))
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set(1)})
	require.NoError(t, err)
	refuses := func(want error) {
		t.Helper()
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
		require.ErrorIs(t, err, want)
		_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
		require.ErrorIs(t, err, want)
		_, err = w.Checkout(t.Context(), w.request("TEN"))
		require.ErrorIs(t, err, want)
	}
	refuses(coupon.ErrUsageLimitReached)
	require.Equal(t, []bool{true}, w.openSessions(t, first), "the refused checkout ended the open session")
	require.NoError(t, w.CancelExchange(t.Context(), bob.ID, ofBob.ID))
	require.Equal(t, int64(100), w.ledger.Balance(bob.ID))
	refuses(nil)

	_, err = w.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set(2)})
	require.NoError(t, err)
	_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: bob})
	require.NoError(t, err)
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set(1)})
	require.NoError(t, err)
	refuses(coupon.ErrUsageLimitReached)
	for _, s := range w.fake.Sessions() {
		if s.Status == processor.SessionOpen {
			require.NoError(t, w.fake.Pay(s.ID))
		}
	}
	w.deliver(t)
	if got := w.get(t, c.ID); got.UsedCount != 1 || got.ReservedCount != 1 {
		t.Errorf("counts are %d used and %d reserved, want the paid one and the other's", got.UsedCount, got.ReservedCount)
	}
}

// TestPeriodsOfAnExchange: a use that was bought with points counts in the day of the exchange, so that others cannot
// use up the day of the checkout. A code that the exchange did not name is counted in the day of the checkout.
func TestPeriodsOfAnExchange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		per      coupon.LimitSubject
		code     string
		ann, bob error
	}{
		{coupon.PerCoupon, "TEN", nil, nil},
		{coupon.PerCode, "TEN", nil, nil},
		{coupon.PerCoupon, "ISSUED", nil, nil},
		{coupon.PerCode, "ISSUED", nil, coupon.ErrPeriodLimitReached},
	} {
		w := newWorld(t)
		w.ledger.Credit(bob.ID, 100)
		d, zone := forPoints(), calendar.Zone{}
		require.NoError(t, zone.UnmarshalText([]byte("UTC")))
		d.PeriodLimits = []coupon.PeriodLimit{{Per: test.per, Period: calendar.Day, Zone: zone, MaxUses: 1}}
		c := w.create(t, d)
		w.issue(t, c, "batch", coupon.CodeDraft{Code: "ISSUED"})
		exchange := func(customer eligibility.Customer) error {
			_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: customer})
			return err
		}
		require.NoError(t, exchange(ann))
		require.ErrorIs(t, exchange(bob), coupon.ErrPeriodLimitReached)
		w.pass(24 * time.Hour)
		require.NoError(t, exchange(bob))
		buy := func(customer eligibility.Customer, want error) {
			t.Helper()
			r := w.request(test.code)
			r.Key, r.Customer = customer.ID, customer
			_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: r.Codes, Customer: customer})
			require.ErrorIs(t, err, want)
			_, err = w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, want, "%v by %s", test.per, test.code)
		}
		buy(ann, test.ann)
		buy(bob, test.bob)
	}
}

// TestCancelExchangeWaitsForADelayedPayment: whoever has finished the checkout cannot
// have the points back and the discount too. The simulation found it (its seed 546).
func TestCancelExchangeWaitsForADelayedPayment(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(w *world, session string) error{
		"arrives": func(w *world, session string) error { return w.fake.PaymentArrives(session) },
		"fails":   func(w *world, session string) error { return w.fake.PaymentFails(session) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			held := w.exchange(t, w.create(t, forPoints()))
			session := w.checkout(t, w.request("TEN")).Session.ID
			require.NoError(t, w.fake.PayLater(session))
			for range 2 { // before the event and after it
				if err := w.CancelExchange(t.Context(), ann.ID, held.ID); !errors.Is(err, redemption.ErrIllegal) {
					t.Errorf("with a payment on its way: %v, want redemption.ErrIllegal", err)
				}
				w.wantBalance(t, 40)
				w.deliver(t)
			}
			require.NoError(t, decide(w, session))
			err := w.CancelExchange(t.Context(), ann.ID, held.ID)
			if name == "fails" {
				require.NoError(t, err)
				w.wantBalance(t, 100)
				return
			}
			if !errors.Is(err, redemption.ErrIllegal) {
				t.Errorf("once the payment has arrived: %v, want redemption.ErrIllegal", err)
			}
			w.wantBalance(t, 40)
		})
	}
}

// TestPointsOfALateDebitComeBack: the sweep has released the reservation and could not
// close it at the ledger, which debits it all the same.
func TestPointsOfALateDebitComeBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refuse refusal // of a call after the debit
		want   error
		left   int64
	}{
		"at once":                       {refusal{}, couponkit.ErrReservationClosed, 100},
		"unless the ledger is down":     {refusal{call: "Refund", err: errDown}, errDown, 40},
		"unless the store is down":      {refusal{call: "ListUses", err: errDown}, errDown, 40},
		"unless the store loses a step": {refusal{call: "Apply points_exchanged", err: errDown}, errDown, 40},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, forPoints())
			sweeper, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithPoints(closedAccounts{w.ledger, ann.ID}),
				couponkit.WithClock(func() time.Time { return w.now.Add(couponkit.DefaultExchangeTime) }))
			require.NoError(t, err)
			w.behind(func(call string, effect func() error) error {
				if call == "Debit" {
					_, err := sweeper.Sweep(t.Context(), 0)
					require.ErrorContains(t, err, "the account is closed")
				}
				return tc.refuse.gate(call, effect)
			}, couponkit.WithClock(func() time.Time { return w.now }))
			_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
			require.ErrorIs(t, err, tc.want)
			w.wantBalance(t, tc.left)
			service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithPoints(w.ledger))
			require.NoError(t, err)
			w.Service = service // all is up again
			w.pass(couponkit.DefaultExchangeTime)
			_, err = w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			w.wantBalance(t, 100)
		})
	}
}

// TestASecondUseForPointsCostsThemAgain: a reservation that a checkout uses is spent,
// also while it is not paid.
func TestASecondUseForPointsCostsThemAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.Credit(ann.ID, 100)
	d := forPoints()
	d.MaxUsesPerUser = coupon.Set(2)
	c := w.create(t, d)
	first := w.exchange(t, c)
	w.checkout(t, w.request("TEN"))
	if second := w.exchange(t, c); second.ID == first.ID {
		t.Error("the reservation in the checkout was given out again")
	}
	w.wantBalance(t, 200-2*60)
}

// TestCancelExchangeAsksTheProcessorOnlyWhileASessionIsOpen: then an answer is needed,
// else none is.
func TestCancelExchangeAsksTheProcessorOnlyWhileASessionIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	held := w.exchange(t, c)
	w.fake.ForgetCalls()
	require.NoError(t, w.CancelExchange(t.Context(), ann.ID, held.ID))
	require.Empty(t, w.fake.Calls())

	held = w.exchange(t, c)
	w.checkout(t, w.request("TEN"))
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore, Times: -1})
	require.ErrorIs(t, w.CancelExchange(t.Context(), ann.ID, held.ID), couponkit.ErrUnavailable)
	w.wantBalance(t, 40)
	down.Remove()
	require.NoError(t, w.CancelExchange(t.Context(), ann.ID, held.ID))
	w.fake.ForgetCalls()
	require.NoError(t, w.CancelExchange(t.Context(), ann.ID, held.ID))
	require.Empty(t, w.fake.Calls())
	w.wantBalance(t, 100)
}

// TestAnExchangeBehindManyCheckouts: a customer has as many live reservations of a
// coupon as a look-up lists, and exchanges points once more. The new reservation can be used,
// and no session of the customer is ended for it.
func TestAnExchangeBehindManyCheckouts(t *testing.T) {
	t.Parallel()
	for _, finished := range []bool{false, true} {
		w := newWorld(t)
		d := forPoints()
		d.PointsRequired, d.MaxUsesPerUser = 1, coupon.Clear[int]()
		c := w.create(t, d)
		var open []couponkit.Checkout
		for range store.MaxHeld {
			w.exchange(t, c)
			got := w.checkout(t, w.request("TEN"))
			if finished { // with a payment that is on its way
				require.NoError(t, w.fake.PayLater(got.Session.ID))
				w.deliver(t)
			} else {
				open = append(open, got)
			}
			w.pass(time.Second)
		}
		held := w.exchange(t, c)
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
		require.NoError(t, err)
		if got := w.checkout(t, w.request("TEN")); got.Uses[0].ExchangeID != held.ID {
			t.Errorf("finished: %t; the checkout uses %s, want %s", finished, got.Uses[0].ExchangeID, held.ID)
		}
		if slices.Contains(w.openSessions(t, open...), false) {
			t.Error("a session was ended without need")
		}
	}
}

// TestTheOldestUseIsTaken: of several open orders, the oldest gives up its points.
func TestTheOldestUseIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := forPoints()
	d.PointsRequired, d.MaxUsesPerUser = 1, coupon.Clear[int]()
	c := w.create(t, d)
	w.exchange(t, c)
	held := []string{w.checkout(t, w.request("TEN")).Uses[0].ExchangeID}
	for range 2 {
		w.pass(time.Second)
		held = append(held, w.exchange(t, c).ID)
		w.checkout(t, w.request("TEN"))
	}
	require.NotEqual(t, held[0], held[1])
	require.Equal(t, held[0], w.checkout(t, w.request("TEN")).Uses[0].ExchangeID)
}

// exchanged is the use that has the points of an exchange now.
func (w *world) exchanged(t *testing.T, u redemption.Use) redemption.Use {
	t.Helper()
	page, err := w.Uses(t.Context(), store.UseList{ExchangeID: u.ExchangeID})
	require.NoError(t, err)
	var now []redemption.Use
	for _, use := range page.Items {
		if use.PointsState != redemption.PointsPassedOn {
			now = append(now, use)
		}
	}
	return useOf(t, now)
}

// TestReservationsAreTheirCustomers: nobody's are none, and a store that is down is an
// error and not an empty list.
func TestReservationsAreTheirCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exchange(t, w.create(t, forPoints()))
	plain := tenOff()
	plain.Code = "PLAIN"
	w.create(t, plain)
	w.checkout(t, w.request("PLAIN"))
	for id, want := range map[string]int{ann.ID: 1, bob.ID: 0, "": 0} {
		held, err := w.Exchanges(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, held, want, "of %q", id)
	}
	w.behind((&refusal{call: "ListUses", err: errDown}).gate)
	_, err := w.Exchanges(t.Context(), ann.ID)
	require.ErrorIs(t, err, errDown)
}

// TestReservationsBehindManyCheckouts: checkouts that are open, however many, hide no
// exchange.
func TestReservationsBehindManyCheckouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held := w.exchange(t, w.create(t, forPoints()))
	w.pass(time.Minute) // the checkouts are newer
	for i := range store.MaxPageSize + 1 {
		d := tenOff()
		d.Code = fmt.Sprint("OTHER", i)
		w.create(t, d)
		w.checkout(t, w.request(d.Code))
	}
	list, err := w.Exchanges(t.Context(), ann.ID)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, held.ID, list[0].ExchangeID)
}

// several is a coupon for 30 points that a customer may exchange again.
func several() coupon.Draft {
	d := forPoints()
	d.PointsRequired, d.MaxUsesPerUser = 30, coupon.Clear[int]()
	return d
}

// TestAKeyOfAnExchangeIsItsOwn holds contract 5.2: a repeated key has its first result,
// also when the customer holds a reservation of another key, and an error when that
// result was given up.
func TestAKeyOfAnExchangeIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, several())
	exchange := func(key string) (redemption.Use, error) {
		return w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: key, Coupon: c.ID, Customer: ann})
	}
	first, err := exchange("first")
	require.NoError(t, err)
	require.NoError(t, w.CancelExchange(t.Context(), ann.ID, first.ID))
	second, err := exchange("second")
	require.NoError(t, err)
	if again, err := exchange("first"); !errors.Is(err, couponkit.ErrReservationClosed) {
		t.Errorf("the key that was given up has %s, %v", again.ID, err)
	}
	require.NoError(t, w.fake.Pay(w.checkout(t, w.request("TEN")).Session.ID))
	w.deliver(t)
	third, err := exchange("third")
	require.NoError(t, err)
	if again, err := exchange("second"); err != nil || again.ExchangeID != second.ID {
		t.Errorf("the key that was used has %s, %v, want %s", again.ID, err, second.ID)
	}
	if again, err := exchange("fourth"); err != nil || again.ID != third.ID {
		t.Errorf("a new key has %s, %v, want the one that is held, %s", again.ID, err, third.ID)
	}
	if again, err := exchange(""); err != nil || again.ID != third.ID {
		t.Errorf("no key has %s, %v, want the one that is held, %s", again.ID, err, third.ID)
	}
	w.wantBalance(t, 100-2*30)
}

// TestAnExchangeOfADeletedCoupon: a repeated call reports that the points were taken.
func TestAnExchangeOfADeletedCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	r := couponkit.ExchangeRequest{Key: "once", Coupon: " " + c.ID, Customer: ann}
	first, err := w.ExchangePoints(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.Delete(t.Context(), c.ID))
	if again, err := w.ExchangePoints(t.Context(), r); err != nil || again.ID != first.ID {
		t.Errorf("the key has %s, %v, want %s", again.ID, err, first.ID)
	}
	require.Equal(t, c.ID, w.attempts[len(w.attempts)-1].CouponID)
	r.Key = "another"
	_, err = w.ExchangePoints(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrNotFound)
}

// TestCancelExchangeIsForPoints: the place of a checkout that cost none is not given up by it.
func TestCancelExchangeIsForPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	for _, id := range []string{"", c.Uses[0].ID} {
		require.ErrorIs(t, w.CancelExchange(t.Context(), ann.ID, id), store.ErrNotFound)
	}
	require.Equal(t, redemption.OrderOpen, w.order(t, c.Order.ID).State)
	session, err := w.fake.Session(t.Context(), c.Session.ID)
	require.NoError(t, err)
	require.Equal(t, processor.SessionOpen, session.Status)
}

// TestCancelExchangeBesideACheckout: a reservation that a checkout takes, or moves to
// another session, while the customer gives it up has not been paid, and is given up.
func TestCancelExchangeBesideACheckout(t *testing.T) {
	t.Parallel()
	for _, checkouts := range []int{0, 1} {
		w := newWorld(t)
		c := w.create(t, forPoints())
		r := w.exchange(t, c)
		for range checkouts {
			w.checkout(t, w.request("TEN"))
		}
		whole, once := w.Service, false
		w.behind(func(call string, effect func() error) error {
			if (call == "Apply cancelled" || call == "ExpireSession") && !once {
				once = true
				_, err := whole.Checkout(t.Context(), w.request("TEN"))
				require.NoError(t, err)
			}
			return effect()
		}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
		require.NoError(t, w.CancelExchange(t.Context(), ann.ID, r.ID))
		w.wantBalance(t, 100)
		if n := w.get(t, c.ID).ReservedCount; n != 0 {
			t.Errorf("%d reservations", n)
		}
	}
}

// TestAnExchangeThatACheckoutTakesAtOnce: of two calls with a key, one confirms the exchange, and a checkout takes
// it before the other one confirms. Both calls return the exchange.
func TestAnExchangeThatACheckoutTakesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	r := couponkit.ExchangeRequest{Key: "once", Coupon: c.ID, Customer: ann}
	whole, once := w.Service, false
	w.behind(func(call string, effect func() error) error {
		if call == "Apply points_exchanged" && !once {
			once = true
			_, err := whole.ExchangePoints(t.Context(), r)
			require.NoError(t, err)
			_, err = whole.Checkout(t.Context(), w.request("TEN"))
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	u, err := w.ExchangePoints(t.Context(), r)
	require.NoError(t, err)
	require.True(t, once)
	require.NotEmpty(t, u.OrderID)
	require.Equal(t, redemption.PointsDebited, u.PointsState)
	w.wantBalance(t, 40)
}

// TestCancelExchangeOfOneThatNeverRests: checkouts that take it again and again are a
// conflict, which may be repeated, and not an end.
func TestCancelExchangeOfOneThatNeverRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	r := w.exchange(t, c)
	whole := w.Service
	w.behind(func(call string, effect func() error) error {
		if call == "Apply cancelled" {
			_, err := whole.Checkout(t.Context(), w.request("TEN"))
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)), couponkit.WithPoints(w.ledger))
	err := w.CancelExchange(t.Context(), ann.ID, r.ID)
	require.ErrorIs(t, err, store.ErrConflict)
	require.NotErrorIs(t, err, redemption.ErrIllegal)
}

// TestAnExchangeThatNobodyCouldMakeNow: points that were not taken, or of which that is not
// known, are not taken later for a coupon that refuses by then, or has another price. The
// reservation is given up, whatever key asks for it.
func TestAnExchangeThatNobodyCouldMakeNow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(w *world, id string) error
		want   error
	}{
		"deleted":     {func(w *world, id string) error { return w.Delete(w.t.Context(), id) }, coupon.ErrNotFound},
		"deactivated": {func(w *world, id string) error { _, err := w.SetActive(w.t.Context(), id, false); return err }, coupon.ErrInactive},
		"expired":     {func(w *world, _ string) error { w.pass(5 * time.Minute); return nil }, coupon.ErrExpired},
		"cheaper": {func(w *world, id string) error {
			_, err := w.Update(w.t.Context(), id, coupon.Patch{PointsRequired: coupon.Set[int64](10)})
			return err
		}, couponkit.ErrReservationClosed},
		"for everybody": {func(w *world, id string) error {
			_, err := w.Update(w.t.Context(), id, coupon.Patch{Distribution: coupon.Set(coupon.General), PointsRequired: coupon.Set[int64](0)})
			return err
		}, validation.ErrInvalid},
	} {
		for _, taken := range []bool{false, true} {
			for _, key := range []string{"first", "second", ""} {
				t.Run(fmt.Sprintf("%s, taken %t, key %q", name, taken, key), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					d := forPoints()
					d.ExpiresAt = calendar.At(w.now.Add(5 * time.Minute))
					c := w.create(t, d)
					whole := w.Service
					w.behind(func(call string, effect func() error) error {
						if call != "Debit" {
							return effect()
						}
						if taken {
							require.NoError(t, effect())
						}
						return errDown
					}, couponkit.WithClock(clockOf(w)))
					r := couponkit.ExchangeRequest{Key: "first", Coupon: c.ID, Customer: ann}
					_, err := w.ExchangePoints(t.Context(), r)
					require.ErrorIs(t, err, errDown)
					w.Service = whole

					require.NoError(t, test.change(w, c.ID))
					r.Key = key
					got, err := w.ExchangePoints(t.Context(), r)
					require.ErrorIs(t, err, test.want)
					require.Empty(t, got.ID)
					if name != "deleted" && name != "for everybody" || key == "first" { // else the sweep finds it
						w.wantBalance(t, 100)
					}
					w.pass(time.Hour)
					_, err = w.Sweep(t.Context(), 0)
					require.NoError(t, err)
					w.wantBalance(t, 100)
					held, err := w.Exchanges(t.Context(), ann.ID)
					require.NoError(t, err)
					require.Empty(t, held)
				})
			}
		}
	}
}

// TestAnExchangeAtAnotherPrice: what was given up stands in nobody's way.
func TestAnExchangeAtAnotherPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	whole := w.Service
	w.behind((&refusal{call: "Debit", err: errDown}).gate, couponkit.WithClock(clockOf(w)))
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	require.ErrorIs(t, err, errDown)
	w.Service = whole
	_, err = w.Update(t.Context(), c.ID, coupon.Patch{PointsRequired: coupon.Set[int64](70)})
	require.NoError(t, err)
	_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
	require.ErrorIs(t, err, couponkit.ErrReservationClosed)
	w.exchange(t, c)
	w.wantBalance(t, 30)
}

// TestAnExchangeBesideAnEdit goes on with the newest terms.
func TestAnExchangeBesideAnEdit(t *testing.T) {
	t.Parallel()
	for edits, want := range map[int]error{1: nil, 4: nil, 5: store.ErrStaleRevision} {
		w := newWorld(t)
		c := w.create(t, forPoints())
		whole, done := w.Service, 0
		w.behind(func(call string, effect func() error) error {
			if call == "Reserve" && done < edits {
				done++
				_, err := whole.Update(t.Context(), c.ID, coupon.Patch{PointsRequired: coupon.Set(int64(60 + done))})
				require.NoError(t, err)
			}
			return effect()
		}, couponkit.WithClock(clockOf(w)))
		r, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: c.ID, Customer: ann})
		require.ErrorIs(t, err, want)
		if want == nil {
			require.EqualValues(t, 60+edits, r.Points)
			w.wantBalance(t, 100-r.Points)
		}
	}
}

// TestNobodysExchange: who is not signed in learns of no key.
func TestNobodysExchange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, forPoints())
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "first", Coupon: c.ID, Customer: ann})
	require.NoError(t, err)
	got, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "first", Coupon: c.ID})
	require.ErrorIs(t, err, coupon.ErrUserRequired)
	require.Empty(t, got.ID)
}

// TestAnExchangeWhileTheMirrorIsWritten: a coupon that is out of sync for a moment takes no
// points and ends no exchange, neither one that goes on later nor one that is under way.
func TestAnExchangeWhileTheMirrorIsWritten(t *testing.T) {
	t.Parallel()
	for _, underWay := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, forPoints())
		r := couponkit.ExchangeRequest{Key: "k", Coupon: c.ID, Customer: ann}
		whole := w.Service
		again := func() {
			require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
			_, err := whole.ExchangePoints(t.Context(), r)
			require.ErrorIs(t, err, coupon.ErrProcessorOutOfSync)
			require.NoError(t, w.fake.TamperActivate(c.Mirror))
			w.wantBalance(t, 100)
		}
		w.behind(func(call string, effect func() error) error {
			switch {
			case call != "Debit":
			case !underWay:
				return errDown
			default:
				again()
			}
			return effect()
		}, couponkit.WithClock(clockOf(w)))
		got, err := w.ExchangePoints(t.Context(), r)
		if !underWay {
			require.ErrorIs(t, err, errDown)
			again()
			got, err = whole.ExchangePoints(t.Context(), r)
		}
		require.NoError(t, err)
		require.Equal(t, redemption.PointsDebited, got.PointsState)
		w.wantBalance(t, 40)
	}
}

// TestAKeyOfAnotherExchange is used, whatever the customer holds of the coupon, and whether
// it can be had or not.
func TestAKeyOfAnotherExchange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.Credit(ann.ID, 100)
	other := forPoints()
	other.Code = "OTHER"
	first, second := w.create(t, forPoints()), w.create(t, other)
	exchange := func(key string, c coupon.Coupon) error {
		_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: key, Coupon: c.ID, Customer: ann})
		return err
	}
	require.NoError(t, exchange("first", first))
	require.ErrorIs(t, exchange("first", second), store.ErrKeyReused)
	require.NoError(t, exchange("second", second))
	require.ErrorIs(t, exchange("first", second), store.ErrKeyReused)
	_, err := w.SetActive(t.Context(), second.ID, false)
	require.NoError(t, err)
	require.ErrorIs(t, exchange("first", second), store.ErrKeyReused)
	require.NoError(t, w.Delete(t.Context(), second.ID))
	require.ErrorIs(t, exchange("first", second), store.ErrKeyReused)
	require.NoError(t, exchange("second", second))
}
