package couponkit_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// asked counts how often the processor was asked about mirrors since the calls were forgotten.
func (w *world) asked() (n int) {
	for _, call := range w.fake.Calls() {
		if call.Op == fakeprocessor.VerifyMirror && call.Step == "" {
			n++
		}
	}
	w.fake.ForgetCalls()
	return n
}

func (w *world) quote(code string) error {
	_, err := w.Quote(w.t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(code), Customer: ann})
	return err
}

func (w *world) validate(code string) error {
	_, err := w.Validate(w.t.Context(), couponkit.ValidateRequest{Code: code, Customer: ann})
	return err
}

func (w *world) unavailable(op fakeprocessor.Op) *fakeprocessor.Injection {
	return w.fake.Inject(fakeprocessor.Fault{Op: op, Kind: fakeprocessor.LostBefore, Times: -1})
}

// TestQuotesUseTheLastAnswerAboutAMirror for the TTL: of Quote, Validate and Checkout alike.
func TestQuotesUseTheLastAnswerAboutAMirror(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, couponkit.DefaultMirrorTTL, time.Hour} {
		w := newWorld(t, couponkit.WithMirrorTTL(ttl))
		w.create(t, tenOff())
		w.fake.ForgetCalls()
		for _, step := range []struct {
			pass time.Duration
			want int
		}{{0, 1}, {ttl - 1, 0}, {1, 1}, {0, 0}, {ttl, 1}, {9 * ttl, 1}, {11 * ttl, 1}} {
			if ttl == 0 {
				step.pass, step.want = 0, 2
			}
			w.pass(step.pass)
			require.NoError(t, w.quote("TEN"))
			require.NoError(t, w.validate("ten"))
			require.Equal(t, step.want, w.asked(), "TTL %v, %v later", ttl, step.pass)
		}
	}
	w := newWorld(t) // without the option
	w.create(t, tenOff())
	require.NoError(t, w.quote("TEN"))
	w.fake.ForgetCalls()
	w.pass(couponkit.DefaultMirrorTTL - 1)
	require.NoError(t, w.quote("TEN"))
	require.Zero(t, w.asked())
	w.pass(1)
	require.NoError(t, w.quote("TEN"))
	require.Equal(t, 1, w.asked())
}

// TestWhatReservesAlwaysAsks: a use is never kept on a remembered answer, and the answer that a
// checkout gets is remembered.
func TestWhatReservesAlwaysAsks(t *testing.T) {
	t.Parallel()
	for name, reserve := range map[string]func(w *world) error{
		"checkout": func(w *world) error {
			_, err := w.Checkout(t.Context(), w.request("TEN"))
			return err
		},
		"payment link": func(w *world) error {
			_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{CheckoutRequest: w.request("TEN"), Mode: couponkit.SubscriptionLink})
			return err
		},
		"payment link by amount": func(w *world) error {
			_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
				Mode: couponkit.ProductLink, Amount: pricing.NewMoney(20_00, pricing.EUR()),
				CheckoutRequest: couponkit.CheckoutRequest{Customer: ann, Codes: []string{"TEN"}},
			})
			return err
		},
		"exchange": func(w *world) error {
			_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: ann})
			return err
		},
	} {
		w := newWorld(t)
		d := tenOff()
		d.MaxUsesPerUser = coupon.Clear[int]()
		preview := func() error { return w.quote("TEN") }
		if name == "exchange" {
			d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 10
			preview = func() error { // nobody has exchanged points: the mirror was asked about all the same
				require.ErrorIs(t, w.quote("TEN"), coupon.ErrPointsNotRedeemed)
				return nil
			}
		}
		c := w.create(t, d)
		require.NoError(t, preview(), name)
		w.fake.ForgetCalls()
		down := w.unavailable(fakeprocessor.VerifyMirror)
		require.ErrorIs(t, reserve(w), couponkit.ErrUnavailable, name)
		require.Equal(t, 1, w.asked(), name)
		require.NoError(t, preview(), "%s: a failure leaves the last answer", name)
		down.Remove()
		require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
		require.ErrorIs(t, reserve(w), coupon.ErrProcessorOutOfSync, name)
		w.fake.ForgetCalls()
		require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync, "%s: its answer is the newest", name)
		require.Zero(t, w.asked(), name)
		require.NoError(t, w.fake.TamperActivate(c.Mirror))
		require.NoError(t, reserve(w), name)
	}
}

// TestQuotesWhileTheProcessorIsDown go on with the last valid answer for ten TTLs, and each TTL
// one of them asks. An answer that the mirror is not valid does not outlive its TTL.
func TestQuotesWhileTheProcessorIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.logged(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.quote("TEN"))
	w.fake.ForgetCalls()
	down := w.unavailable(fakeprocessor.VerifyMirror)
	for minute := range 9 {
		w.pass(time.Minute)
		for range 3 {
			require.NoError(t, w.quote("TEN"), "minute %d", minute+1)
		}
		require.Equal(t, 1, w.asked(), "minute %d", minute+1)
		require.Len(t, log.lines, minute+1)
	}
	w.pass(time.Minute - 1)
	require.NoError(t, w.quote("TEN"))
	w.pass(1)
	require.ErrorIs(t, w.quote("TEN"), couponkit.ErrUnavailable)
	down.Remove()
	require.NoError(t, w.quote("TEN"))

	require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
	w.pass(time.Minute)
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync)
	w.unavailable(fakeprocessor.VerifyMirror)
	w.pass(time.Minute - 1)
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync)
	w.pass(1)
	require.ErrorIs(t, w.quote("TEN"), couponkit.ErrUnavailable)
}

// TestOnlyOneCallerWaitsForANewerAnswer, for two seconds at most; all others use the old one.
func TestOnlyOneCallerWaitsForANewerAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(t, tenOff())
		service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake))
		require.NoError(t, err)
		w.Service = service
		require.NoError(t, w.validate("TEN"))
		time.Sleep(couponkit.DefaultMirrorTTL)
		w.fake.ForgetCalls()
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Delay, Latency: time.Minute, Times: -1})
		var waited [50]time.Duration
		var group sync.WaitGroup
		for i := range waited {
			group.Go(func() {
				began := time.Now()
				if _, err := service.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", AllowAnonymous: true}); err != nil {
					t.Error(err)
				}
				waited[i] = time.Since(began)
			})
		}
		group.Wait()
		var long []time.Duration
		for _, d := range waited {
			if d > 0 {
				long = append(long, d)
			}
		}
		require.Equal(t, []time.Duration{2 * time.Second}, long)
		require.Equal(t, 1, w.asked())
	})
}

// TestACallerWhoGivesUpLeavesTheQuestionToTheNext: it is told that its context has ended, and
// no TTL passes before somebody asks again.
func TestACallerWhoGivesUpLeavesTheQuestionToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.quote("TEN"))
	w.pass(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) { cancel() }})
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Delay, Latency: time.Hour})
	_, err := w.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
	require.ErrorIs(t, err, context.Canceled)
	w.fake.Heal()
	require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync)
}

// TestAChangeIsSeenAtOnce: a revision, and a mirror that this service has repaired, have no
// answer yet.
func TestAChangeIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.quote("TEN"))
	w.fake.ForgetCalls()
	c, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
	require.NoError(t, err)
	require.NoError(t, w.quote("TEN"))
	require.Equal(t, 1, w.asked())

	require.NoError(t, w.fake.TamperDelete(c.Mirror))
	w.pass(time.Minute)
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync)
	_, err = w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.NoError(t, w.quote("TEN"))
}

// TestAnAnswerThatIsOlderThanARepairIsNotRemembered.
func TestAnAnswerThatIsOlderThanARepairIsNotRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
	repaired := false
	service, err := couponkit.New(w.store, couponkit.WithProcessor(late{w.fake, func() {
		if !repaired {
			repaired = true
			_, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
		}
	}}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync, "the answer of before")
	require.NoError(t, w.quote("TEN"))
}

// late is a processor after whose answers about a mirror something happens before they arrive.
type late struct {
	*fakeprocessor.Processor
	meanwhile func()
}

func (p late) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	status, err := p.Processor.VerifyMirror(ctx, c)
	p.meanwhile()
	return status, err
}

// TestAnswersOfAClockThatWasPutBack are not used: their age is not known.
func TestAnswersOfAClockThatWasPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	require.NoError(t, w.quote("TEN"))
	w.fake.ForgetCalls()
	w.pass(-time.Second)
	require.NoError(t, w.quote("TEN"))
	require.Equal(t, 1, w.asked())
}

func TestMirrorTTLOutOfBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for ttl, valid := range map[time.Duration]bool{-1: false, 0: true, 24 * time.Hour: true, 24*time.Hour + 1: false} {
		_, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithMirrorTTL(ttl))
		if valid {
			require.NoError(t, err, ttl)
			continue
		}
		require.Equal(t, []string{"mirrorTTL"}, faultyFields(t, err), ttl)
	}
}
