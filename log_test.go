package couponkit_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// refusal is a gate that answers one call, and those after it, with an error.
type refusal struct {
	call string
	skip int // how many of the calls get through first
	err  error
}

func (r *refusal) gate(call string, effect func() error) error {
	if r == nil || call != r.call {
		return effect()
	}
	if r.skip > 0 {
		r.skip--
		return effect()
	}
	return r.err
}

// behind puts the service's store and ledger behind a gate.
func (w *world) behind(gate gate, options ...couponkit.Option) {
	w.t.Helper()
	service, err := couponkit.New(gated{w.store, gate}, append([]couponkit.Option{
		couponkit.WithProcessor(w.fake),
		couponkit.WithPoints(gatedPoints{w.ledger, gate}),
	}, options...)...)
	require.NoError(w.t, err)
	w.Service = service
}

// messages is a logger's handler that keeps what it is told.
type messages struct {
	slog.Handler
	lines []string
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.lines = append(m.lines, r.Message)
	return nil
}

var errDown = errors.New("the store is down")

// TestWhatNoCallerIsToldIsLogged: where the caller already has an error, or none, a
// second failure behind it is found in the log, and what went well is not.
func TestWhatNoCallerIsToldIsLogged(t *testing.T) {
	t.Parallel()
	checkout := func(w *world) error {
		_, err := w.Checkout(w.t.Context(), w.request("TEN"))
		return err
	}
	superseded := func(call string, effect func() error) error {
		if call == "Apply session_attached" {
			return store.ErrSuperseded
		}
		return effect()
	}
	cases := map[string]struct {
		draft  coupon.Draft // empty for none
		first  gate
		fault  fakeprocessor.Fault
		second refusal
		act    func(w *world) error
		told   error // what the caller is told
		want   string
	}{
		"a creation that is not undone": {
			fault: fakeprocessor.Fault{Op: fakeprocessor.EnsureMirror, Kind: fakeprocessor.LostBefore},
			act: func(w *world) error {
				_, err := w.Create(w.t.Context(), tenOff())
				return err
			},
			second: refusal{call: "SaveCoupon edit", err: errDown},
			told:   couponkit.ErrUnavailable, want: "a failed creation is left to the reconcile",
		},
		"a change that is not taken back": {
			draft: tenOff(),
			fault: fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostBefore},
			act: func(w *world) error {
				page, err := w.List(w.t.Context(), store.CouponList{})
				require.NoError(w.t, err)
				_, err = w.Update(w.t.Context(), page.Items[0].ID, coupon.Patch{Name: coupon.Set("New")})
				return err
			},
			second: refusal{call: "SaveCoupon edit", skip: 1, err: errDown},
			told:   couponkit.ErrUnavailable, want: "a change is left to the reconcile",
		},
		"a mirror of a deleted coupon that stays": {
			draft: tenOff(),
			act: func(w *world) error {
				page, err := w.List(w.t.Context(), store.CouponList{})
				require.NoError(w.t, err)
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
					require.NoError(w.t, w.discard(page.Items[0].ID, page.Items[0].Revision+1))
				}})
				_, err = w.Update(w.t.Context(), page.Items[0].ID, coupon.Patch{Name: coupon.Set("New")})
				return err
			},
			second: refusal{call: "LookUp", skip: 1, err: errDown},
			told:   coupon.ErrNotFound, want: "the mirror of a deleted coupon is left to the reconcile",
		},
		"an order without a session that stays": {
			draft:  tenOff(),
			fault:  fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse},
			act:    checkout,
			second: refusal{call: "Apply session_expired", err: errDown},
			told:   processor.ErrRejected, want: "an abandoned order is left to the sweep",
		},
		"a refund that fails": {
			draft: forPoints(),
			act: func(w *world) error {
				_, err := w.ExchangePoints(w.t.Context(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: ann})
				require.NoError(w.t, err)
				got := w.checkout(w.t, w.request("TEN"))
				return w.handle(w.t.Context(), w.event(got, processor.Expired, processor.Unpaid))
			},
			second: refusal{call: "Refund", err: errDown},
			want:   "a refund of points is left to the sweep",
		},
		"a refused exchange that is not given up": {
			draft: forPoints(),
			act: func(w *world) error {
				require.NoError(w.t, w.ledger.Debit(w.t.Context(), ann.ID, "another shop", 50))
				_, err := w.ExchangePoints(w.t.Context(), couponkit.ExchangeRequest{Coupon: "TEN", Customer: ann})
				require.NotErrorIs(w.t, err, errDown)
				return err
			},
			second: refusal{call: "Apply points_refused", err: errDown},
			told:   coupon.ErrPointsNotRedeemed, want: "an exchange that was refused is left to the sweep",
		},
		"a session for nobody that stays open": {
			draft: tenOff(), first: superseded,
			act: func(w *world) error {
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
				return checkout(w)
			},
			told: store.ErrSuperseded, want: "a superseded session could not be ended",
		},
		"a session for nobody that is ended": {draft: tenOff(), first: superseded, act: checkout, told: store.ErrSuperseded},
		"a payment of another amount": {
			draft: tenOff(),
			act: func(w *world) error {
				e := w.event(w.checkout(w.t, w.request("TEN")), processor.Completed, processor.Paid)
				e.Total++
				return w.handle(w.t.Context(), e)
			},
			want: "a session charged another amount than its order",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, failing := range []bool{true, false} {
				if !failing && tc.second.call == "" {
					continue
				}
				w, log := newWorld(t), &messages{}
				if tc.draft.Code != "" {
					w.create(t, tc.draft)
				}
				gate, second := tc.first, tc.second
				if failing && second.call != "" {
					gate = second.gate
				} else if gate == nil {
					gate = (*refusal)(nil).gate
				}
				w.behind(gate, couponkit.WithLogger(slog.New(log)))
				if tc.fault.Kind != 0 {
					w.fake.Inject(tc.fault)
				}
				if err := tc.act(w); !errors.Is(err, tc.told) {
					t.Errorf("the caller is told %v, want %v", err, tc.told)
				}
				var want []string
				if failing && tc.want != "" {
					want = []string{tc.want}
				}
				if diff := cmp.Diff(want, log.lines); diff != "" {
					t.Errorf("failing: %t; logged (-want +got):\n%s", failing, diff)
				}
			}
		})
	}
}

// TestAPanicIsNoSuccess: what the host has lent to the service ends the call, and the observer
// is told so.
func TestAPanicIsNoSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	w.attempts = nil
	r := w.request("TEN")
	r.Describe = func(pricing.Line) string { panic("no name") }
	require.PanicsWithValue(t, "no name", func() { _, _ = w.Checkout(t.Context(), r) })
	require.Len(t, w.attempts, 1)
	require.EqualError(t, w.attempts[0].Err, "panic: no name")
	require.Equal(t, couponkit.OpCheckout, w.attempts[0].Operation)
}

// TestWhatWasTypedIsInNoAttempt, an address for instance, where a coupon was asked for.
func TestWhatWasTypedIsInNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behind((&refusal{call: "ListUses", err: errDown}).gate, couponkit.WithClock(clockOf(w)),
		couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) { w.attempts = append(w.attempts, a) })))
	r := couponkit.ExchangeRequest{Key: "k", Coupon: "cpn_ann@example.org", Customer: ann}
	_, err := w.ExchangePoints(t.Context(), r)
	require.ErrorIs(t, err, errDown)
	require.Len(t, w.attempts, 1)
	require.Empty(t, w.attempts[0].CouponID)
}
