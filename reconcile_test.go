package couponkit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// sessionsOnly is a processor that keeps no coupons.
type sessionsOnly struct {
	processor.NoMirror
	processor.Sessions
}

func (sessionsOnly) Abilities() processor.Abilities { return processor.Abilities{} }

// TestAProcessorWithoutCoupons: what administrators do is done in the store alone, and
// there is never anything to repair.
func TestAProcessorWithoutCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(sessionsOnly{Sessions: w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	c, err := service.Create(t.Context(), tenOff())
	require.NoError(t, err)
	nothingToRepair := func(when string) {
		drifts, err := service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		if err != nil || len(drifts) != 0 {
			t.Errorf("%s: drifts %+v, %v", when, drifts, err)
		}
	}
	nothingToRepair("created")
	_, err = service.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
	require.NoError(t, err)
	nothingToRepair("edited")
	_, err = service.SetActive(t.Context(), c.ID, false)
	require.NoError(t, err)
	nothingToRepair("switched off")
	_, err = service.SetActive(t.Context(), c.ID, true)
	require.NoError(t, err)
	nothingToRepair("switched on")
	made, err := service.Checkout(t.Context(), w.request("TEN"))
	require.NoError(t, err)
	require.EqualValues(t, 24_90, made.Order.Quote.Total)
	require.NoError(t, service.Delete(t.Context(), c.ID))
}

// TestReconcileRepairsEveryDrift: each kind is found, reported in a dry run without
// a change, repaired, and gone.
func TestReconcileRepairsEveryDrift(t *testing.T) {
	t.Parallel()
	cases := map[couponkit.DriftKind]func(w *world, c coupon.Coupon){
		couponkit.DriftMissing: func(w *world, c coupon.Coupon) {
			require.NoError(w.t, w.fake.TamperDelete(c.Mirror))
		},
		couponkit.DriftState: func(w *world, c coupon.Coupon) {
			require.NoError(w.t, w.fake.TamperDeactivate(c.Mirror))
		},
		couponkit.DriftOutdated: func(w *world, c coupon.Coupon) {
			c.Name = "Changed behind the service"
			_, err := w.save(store.EditCoupon, c)
			require.NoError(w.t, err)
		},
		couponkit.DriftDeleting: func(w *world, c coupon.Coupon) {
			c.State = coupon.Deleting
			_, err := w.save(store.EditCoupon, c)
			require.NoError(w.t, err)
		},
		couponkit.DriftPending: func(w *world, c coupon.Coupon) {
			c.State = coupon.Pending
			_, err := w.save(store.EditCoupon, c)
			require.NoError(w.t, err)
			w.pass(couponkit.PendingTime)
		},
		couponkit.DriftOrphan: func(w *world, c coupon.Coupon) {
			require.NoError(w.t, w.discard(c.ID, c.Revision))
		},
	}
	for kind, arrange := range cases {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := w.fake.PlantForeignCode("THEIRS")
			require.NoError(t, err)
			c := w.create(t, tenOff())
			arrange(w, c)
			for _, dry := range []bool{true, false} {
				drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: dry})
				require.NoError(t, err)
				want := []couponkit.Drift{{Kind: kind, CouponID: c.ID, Repaired: !dry}}
				if diff := cmp.Diff(want, drifts); diff != "" {
					t.Errorf("dry run %t (-want +got):\n%s", dry, diff)
				}
			}
			drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			if err != nil || len(drifts) > 0 {
				t.Errorf("afterwards: %+v, %v", drifts, err)
			}
			if after, err := w.Get(t.Context(), c.ID); err == nil {
				w.wantMirrored(t, after.ID, processor.MirrorValid)
			} else if len(w.fake.Coupons()) != 1 {
				t.Errorf("%d objects at the processor, want the foreign one", len(w.fake.Coupons()))
			}
		})
	}
}

// TestReconcileOfAnExpiredCoupon: its promotion code has ended with it where the
// processor mirrors the expiry. Before the expiry, elsewhere, and when the mirror is
// gone, a mirror that cannot be used is a drift all the same.
func TestReconcileOfAnExpiredCoupon(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mirrors bool
		pass    time.Duration
		tamper  func(*world, coupon.Coupon) error
		want    couponkit.DriftKind
	}{
		"expired":           {mirrors: true, pass: time.Hour},
		"not yet":           {true, time.Hour - 1, func(w *world, c coupon.Coupon) error { return w.fake.TamperDeactivate(c.Mirror) }, couponkit.DriftState},
		"gone":              {true, time.Hour, func(w *world, c coupon.Coupon) error { return w.fake.TamperDelete(c.Mirror) }, couponkit.DriftMissing},
		"without an expiry": {pass: time.Hour},
		"off without one":   {false, time.Hour, func(w *world, c coupon.Coupon) error { return w.fake.TamperDeactivate(c.Mirror) }, couponkit.DriftState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, processor.Abilities{MirrorsExpiry: test.mirrors})
			d := tenOff()
			d.ExpiresAt = calendar.At(w.now.Add(time.Hour))
			c := w.create(t, d)
			w.pass(test.pass)
			var want []couponkit.Drift
			if test.tamper != nil {
				require.NoError(t, test.tamper(w, c))
				want = []couponkit.Drift{{Kind: test.want, CouponID: c.ID, Repaired: true}}
			}
			drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
			if diff := cmp.Diff(want, drifts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReconcileFindsAChangeThatArrivedLate: a call that was long under way has put
// older terms over the newer ones, of which the store believes that they are shown.
func TestReconcileFindsAChangeThatArrivedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older := w.create(t, tenOff())
	_, err := w.Update(t.Context(), older.ID, coupon.Patch{Name: coupon.Set("Newer")})
	require.NoError(t, err)
	_, err = w.fake.UpdateMirror(t.Context(), older)
	require.NoError(t, err)
	for _, dry := range []bool{true, false} {
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: dry})
		require.NoError(t, err)
		want := []couponkit.Drift{{Kind: couponkit.DriftOutdated, CouponID: older.ID, Repaired: !dry}}
		if diff := cmp.Diff(want, drifts); diff != "" {
			t.Errorf("dry run %t (-want +got):\n%s", dry, diff)
		}
	}
	w.wantMirrored(t, older.ID, processor.MirrorValid)
}

// relisted is a processor that lists its mirrors otherwise than it knows them, and remembers
// what it was told to remove.
type relisted struct {
	*fakeprocessor.Processor
	change  func(*processor.MirrorRef)
	removed []coupon.Coupon
}

func (p *relisted) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		for ref, err := range p.Processor.Mirrors(ctx) {
			p.change(&ref)
			if !yield(ref, err) {
				return
			}
		}
	}
}

func (p *relisted) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	p.removed = append(p.removed, c)
	return p.Processor.RemoveMirror(ctx, c)
}

// TestReconcileKnowsAMirrorByAllThatIsListed: another object, another revision and another
// active promotion code are each a drift. None that is active is one of the coupon's own.
func TestReconcileKnowsAMirrorByAllThatIsListed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*processor.MirrorRef)
		drifts int
	}{
		"as it is":         {func(*processor.MirrorRef) {}, 0},
		"another object":   {func(r *processor.MirrorRef) { r.Mirror.CouponID = "other" }, 1},
		"another revision": {func(r *processor.MirrorRef) { r.Mirror.Revision++ }, 1},
		"another code":     {func(r *processor.MirrorRef) { r.Mirror.PromotionCodeID = "other" }, 1},
		"no code":          {func(r *processor.MirrorRef) { r.Mirror.PromotionCodeID = "" }, 0},
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		s, err := couponkit.New(w.store, couponkit.WithProcessor(&relisted{Processor: w.fake, change: test.change}), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		drifts, err := s.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: true})
		require.NoError(t, err)
		var want []couponkit.Drift
		for range test.drifts {
			want = append(want, couponkit.Drift{Kind: couponkit.DriftOutdated, CouponID: c.ID})
		}
		if diff := cmp.Diff(want, drifts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAnOrphanIsRemovedByItsNames: the adapter is told of the objects that were listed.
func TestAnOrphanIsRemovedByItsNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	require.NoError(t, w.discard(c.ID, c.Revision))
	p := &relisted{Processor: w.fake, change: func(*processor.MirrorRef) {}}
	s, err := couponkit.New(w.store, couponkit.WithProcessor(p), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = s.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Len(t, p.removed, 1)
	if diff := cmp.Diff(c.Mirror, p.removed[0].Mirror); diff != "" {
		t.Errorf("what is removed (-want +got):\n%s", diff)
	}
	require.Equal(t, c.ID, p.removed[0].ID)
}

// unlisted is a processor that cannot list its mirrors.
type unlisted struct{ processor.Processor }

// TestReconcileBesideAnAdministrator: a reconcile read a coupon before an administrator
// changed it. The reconcile does not overwrite the new mirror. No later reconcile would find
// that, because this processor does not list its mirrors.
func TestReconcileBesideAnAdministrator(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		_, err := w.SetActive(t.Context(), c.ID, false)
		require.NoError(t, err)
		service, err := couponkit.New(w.store, couponkit.WithProcessor(unlisted{w.fake}), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
			_, err := w.SetActive(w.t.Context(), c.ID, true)
			require.NoError(w.t, err)
			if down {
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostBefore})
			}
		}})
		drifts, err := service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.Len(t, drifts, 1)
		if got := drifts[0]; got.Repaired == down || down != errors.Is(err, couponkit.ErrUnavailable) {
			t.Errorf("the processor is down: %t; got %+v, %v", down, got, err)
		}
		if down { // it is marked as out of date, so that the next one mends it
			_, err = service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
		}
		w.wantMirrored(t, c.ID, processor.MirrorValid)
	}
}

// TestReconcileReportsADriftOnce: a coupon whose mirror is known to be out of date, or
// to be removed, is no second drift because the processor shows something else.
func TestReconcileReportsADriftOnce(t *testing.T) {
	t.Parallel()
	for state, kind := range map[coupon.State]couponkit.DriftKind{ //nolint:exhaustive // the states with a mirror that is not right
		coupon.Active: couponkit.DriftOutdated, coupon.Deleting: couponkit.DriftDeleting,
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		c.State, c.Name = state, "Changed"
		c, err := w.save(store.EditCoupon, c)
		require.NoError(t, err)
		_, err = w.fake.UpdateMirror(t.Context(), c) // whose answer was lost
		require.NoError(t, err)
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: true})
		require.NoError(t, err)
		if diff := cmp.Diff([]couponkit.Drift{{Kind: kind, CouponID: c.ID}}, drifts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestReconcileTellsOfAProcessorThatIsDown: what could not be compared, or not be
// repaired, is not said to be right.
func TestReconcileTellsOfAProcessorThatIsDown(t *testing.T) {
	t.Parallel()
	for _, op := range []fakeprocessor.Op{fakeprocessor.VerifyMirror, fakeprocessor.UpdateMirror, fakeprocessor.Mirrors} {
		w := newWorld(t)
		require.NoError(t, w.fake.TamperDelete(w.create(t, tenOff()).Mirror))
		w.fake.Inject(fakeprocessor.Fault{Op: op, Kind: fakeprocessor.LostBefore})
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		require.Len(t, drifts, 1)
		if got := drifts[0]; got.Repaired != (op == fakeprocessor.Mirrors) || got.Repaired != (got.Err == nil) {
			t.Errorf("%s is down: %+v", op, got)
		}
	}
}

// TestReconcileLeavesAYoungCreationAlone: it may still be under way.
func TestReconcileLeavesAYoungCreationAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	c.State = coupon.Pending
	_, err := w.save(store.EditCoupon, c)
	require.NoError(t, err)
	w.pass(couponkit.PendingTime - time.Microsecond)
	if drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{}); err != nil || len(drifts) > 0 {
		t.Errorf("got %+v, %v; want nothing", drifts, err)
	}
}

// TestReconcileLeavesAFinishedCreationAlone: it was half made when the coupons were
// listed, and is in use, or gone, by the time at which it is looked at, because the
// processor took long to tell of another one.
func TestReconcileLeavesAFinishedCreationAlone(t *testing.T) {
	t.Parallel()
	for _, undone := range []bool{false, true} {
		w := newWorld(t)
		pending, err := coupon.New(tenOff(), coupon.Creation{ID: coupon.IDPrefix + "pending", At: w.now})
		require.NoError(t, err)
		pending.State = coupon.Pending
		_, err = w.save(store.CreateCoupon, pending)
		require.NoError(t, err)
		w.pass(time.Second)
		newer := tenOff()
		newer.Code = "NEWER" // and so it is looked at first
		w.create(t, newer)
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
			w.pass(couponkit.PendingTime)
			if undone {
				require.NoError(t, w.discard(pending.ID, pending.Revision))
				return
			}
			m, err := w.fake.EnsureMirror(t.Context(), pending)
			require.NoError(t, err)
			_, err = w.save(store.ConfirmMirror, coupon.Coupon{ID: pending.ID, Mirror: m})
			require.NoError(t, err)
		}})
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		if err != nil || len(drifts) > 0 {
			t.Errorf("got %+v, %v; want nothing", drifts, err)
		}
		if !undone {
			w.wantMirrored(t, pending.ID, processor.MirrorValid)
			_, err = w.Get(t.Context(), pending.ID)
			require.NoError(t, err)
		}
	}
}

// TestReconcileTellsOfACreationThatItCouldNotRead: a store that fails is not taken for
// one that does not know the coupon.
func TestReconcileTellsOfACreationThatItCouldNotRead(t *testing.T) {
	t.Parallel()
	w, blow := newCrashingWorld(t)
	c := w.create(t, tenOff())
	c.State = coupon.Pending
	_, err := w.save(store.EditCoupon, c)
	require.NoError(t, err)
	w.pass(couponkit.PendingTime)
	blow.arm(1, false) // the list is read
	drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.ErrorIs(t, err, errCrash)
	require.Len(t, drifts, 1)
	if got := drifts[0]; got.Kind != couponkit.DriftPending || got.Repaired || !errors.Is(got.Err, errCrash) {
		t.Errorf("got %+v", got)
	}
}

// TestReconcileGoesOnAfterAFailure: one coupon that cannot be repaired does not stop
// the others, and its error is told.
func TestReconcileGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, code := range []string{"ONE", "TWO", "THREE"} {
		d := tenOff()
		d.Code = code
		require.NoError(t, w.fake.TamperDeactivate(w.create(t, d).Mirror))
	}
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.SetMirrorActive, Kind: fakeprocessor.LostBefore})
	drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	repaired := 0
	for _, d := range drifts {
		if d.Repaired {
			repaired++
		}
	}
	if !errors.Is(err, couponkit.ErrUnavailable) || len(drifts) != 3 || repaired != 2 {
		t.Errorf("%d of %d repaired, %v; want 2 of 3 and ErrUnavailable", repaired, len(drifts), err)
	}
}

// TestReconcileTellsOfDriftsBeforeAListThatFails: their errors are joined with that of the
// list.
func TestReconcileTellsOfDriftsBeforeAListThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range store.MaxPageSize + 1 {
		d := tenOff()
		d.Code = fmt.Sprintf("C%d", i)
		w.create(t, d)
	}
	lists, lost := 0, errors.New("the list is lost")
	s, err := couponkit.New(gated{w.store, func(call string, effect func() error) error {
		if call == "ListCoupons" {
			if lists++; lists == 2 {
				return lost
			}
		}
		return effect()
	}}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore})
	drifts, err := s.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.ErrorIs(t, err, lost)
	require.Len(t, drifts, 1)
	require.ErrorIs(t, drifts[0].Err, couponkit.ErrUnavailable)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
}

// TestAnOlderChangeThatArrivesLast: a change that reaches the processor after a newer one,
// and whose caller is gone then, leaves the mirror to the reconcile, also where nobody
// can list what the processor has.
func TestAnOlderChangeThatArrivesLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	var logged bytes.Buffer
	serve := func(gate gate) *couponkit.Service {
		s, err := couponkit.New(gated{w.store, gate}, couponkit.WithProcessor(unlisted{w.fake}), couponkit.WithClock(clockOf(w)),
			couponkit.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
		require.NoError(t, err)
		return s
	}
	newer := serve(func(_ string, effect func() error) error { return effect() })
	ctx, cancel := context.WithCancel(t.Context())
	older := serve(func(call string, effect func() error) error {
		err := effect()
		if call == "SaveCoupon confirm" {
			cancel()
		}
		return err
	})
	var once sync.Once
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
		once.Do(func() {
			_, err := newer.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Newer")})
			require.NoError(t, err)
		})
	}})
	_, err := older.Update(ctx, c.ID, coupon.Patch{Name: coupon.Set("Older")})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, logged.String(), "it was marked")
	_, err = newer.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	now := w.get(t, c.ID)
	for ref, err := range w.fake.Mirrors(t.Context()) {
		require.NoError(t, err)
		if ref.Mirror.Revision != now.Revision || !now.Mirrored() {
			t.Errorf("the mirror shows revision %d of %d; mirrored: %t", ref.Mirror.Revision, now.Revision, now.Mirrored())
		}
	}
}
