package stripeprocessor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// trouble is what happens to one request of a call: a fault, or the process that
// stops before or after it.
type trouble struct {
	name  string
	fault stripefake.Fault
	stop  bool
}

func troubles() []trouble {
	list := []trouble{
		{name: "stop before", fault: stripefake.LostBefore, stop: true},
		{name: "stop after", fault: stripefake.LostAfter, stop: true},
	}
	for f := stripefake.LostBefore; f <= stripefake.DependencyFailed; f++ {
		list = append(list, trouble{name: f.String(), fault: f})
	}
	return list
}

// operation is a call of the mirror with what goes before it.
type operation struct {
	name    string
	prepare func(w *world, id string) coupon.Coupon // the coupon as it is asked for
	call    func(ctx context.Context, p *stripeprocessor.Processor, c coupon.Coupon) (coupon.Mirror, error)
	gone    bool
}

func mirrorOperations() []operation {
	mirrored := func(change func(*coupon.Coupon)) func(*world, string) coupon.Coupon {
		return func(w *world, id string) coupon.Coupon {
			return edited(w.mirrored(newCoupon(w, id, "CODE-"+id)), change)
		}
	}
	update := (*stripeprocessor.Processor).UpdateMirror
	return []operation{
		{
			name:    "create",
			prepare: func(w *world, id string) coupon.Coupon { return newCoupon(w, id, "CODE-"+id) },
			call: func(ctx context.Context, p *stripeprocessor.Processor, c coupon.Coupon) (coupon.Mirror, error) {
				return p.EnsureMirror(ctx, c)
			},
		},
		{name: "rename", prepare: mirrored(func(c *coupon.Coupon) { c.Name = "Other" }), call: swap(update)},
		{name: "rotate", prepare: mirrored(func(c *coupon.Coupon) { c.Limits.MaxUses = 7 }), call: swap(update)},
		{
			name: "off", prepare: mirrored(func(c *coupon.Coupon) { c.State = coupon.Inactive }),
			call: swap((*stripeprocessor.Processor).SetMirrorActive),
		},
		{
			name: "on",
			prepare: func(w *world, id string) coupon.Coupon {
				c := newCoupon(w, id, "CODE-"+id)
				c.State = coupon.Inactive
				return edited(w.mirrored(c), func(c *coupon.Coupon) { c.State = coupon.Active })
			},
			call: swap((*stripeprocessor.Processor).SetMirrorActive),
		},
		{
			name: "on when the code is dead",
			prepare: func(w *world, id string) coupon.Coupon {
				c := w.mirrored(newCoupon(w, id, "CODE-"+id))
				require.NoError(w, w.account.KillCode(c.Mirror.PromotionCodeID))
				return edited(c, func(*coupon.Coupon) {})
			},
			call: swap((*stripeprocessor.Processor).SetMirrorActive),
		},
		{
			name: "on when the coupon is dead",
			prepare: func(w *world, id string) coupon.Coupon {
				c := newCoupon(w, id, "CODE-"+id, func(d *coupon.Draft) { d.MaxUses = coupon.Set(3) })
				c = w.mirrored(c)
				require.NoError(w, w.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.TimesRedeemed = 3 }))
				return c // at the same revision, whose ID the dead coupon has
			},
			call: swap((*stripeprocessor.Processor).SetMirrorActive),
		},
		{
			name: "remake", prepare: func(w *world, id string) coupon.Coupon {
				c := w.mirrored(newCoupon(w, id, "CODE-"+id))
				require.NoError(w, w.account.DeleteCoupon(c.Mirror.CouponID))
				return edited(c, func(*coupon.Coupon) {})
			},
			call: swap(update),
		},
		{name: "delete", prepare: mirrored(func(c *coupon.Coupon) { c.State = coupon.Deleting }), gone: true, call: remove},
		{name: "delete after a repair that was cut off", prepare: (*world).halfRepaired, gone: true, call: remove},
	}
}

func remove(ctx context.Context, p *stripeprocessor.Processor, c coupon.Coupon) (coupon.Mirror, error) {
	return coupon.Mirror{}, p.RemoveMirror(ctx, c)
}

// halfRepaired makes a mirror whose coupon is dead, and of its repair at the same revision
// the coupon alone: nothing at Stripe refers to it.
func (w *world) halfRepaired(id string) coupon.Coupon {
	w.Helper()
	c := w.mirrored(newCoupon(w, id, "CODE-"+id, func(d *coupon.Draft) { d.MaxUses = coupon.Set(3) }))
	require.NoError(w, w.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.TimesRedeemed = 3 }))
	w.account.Faults(func(f stripefake.Call) stripefake.Fault {
		if f.Op == "promotion_codes.create" {
			return stripefake.LostBefore
		}
		return stripefake.None
	})
	_, err := w.processor.EnsureMirror(w.Context(), c)
	w.account.Faults(nil)
	require.ErrorIs(w, err, processor.ErrUnavailable)
	require.Len(w, w.account.Coupons(), 2)
	return edited(c, func(c *coupon.Coupon) { c.State = coupon.Deleting })
}

type mirrorMethod func(*stripeprocessor.Processor, context.Context, coupon.Coupon) (coupon.Mirror, error)

func swap(m mirrorMethod) func(context.Context, *stripeprocessor.Processor, coupon.Coupon) (coupon.Mirror, error) {
	return func(ctx context.Context, p *stripeprocessor.Processor, c coupon.Coupon) (coupon.Mirror, error) {
		return m(p, ctx, c)
	}
}

// TestCrashMatrix lets every kind of trouble happen to every request of every call
// that changes the mirror, runs the call again, and looks at what is there.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	for _, op := range mirrorOperations() {
		for _, tr := range troubles() {
			t.Run(op.name+"/"+tr.name, func(t *testing.T) {
				t.Parallel()
				struck := 0
				for n := 1; ; n++ {
					w := newWorld(t)
					c := op.prepare(w, fmt.Sprintf("x%d", n))
					if !w.meets(op, tr, c, n) {
						break
					}
					struck++
					m, err := op.call(t.Context(), w.processor, c)
					if err != nil {
						t.Fatalf("request %d: the repeated call: %v", n, err)
					}
					c.Mirror = m
					w.showsExactly(c, op.gone, fmt.Sprintf("request %d", n))
					if t.Failed() {
						return
					}
				}
				if struck == 0 {
					t.Fatal("the call sends no request")
				}
			})
		}
	}
}

// meets runs the call with trouble at its n-th request and reports whether there was
// such a request.
func (w *world) meets(op operation, tr trouble, c coupon.Coupon, n int) (struck bool) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	var seen atomic.Int64
	w.account.Faults(func(stripefake.Call) stripefake.Fault {
		switch at := seen.Add(1); {
		case at == int64(n):
			if tr.stop {
				cancel()
			}
			return tr.fault
		case at > int64(n) && tr.stop:
			return stripefake.LostBefore // a process that has stopped sends nothing
		}
		return stripefake.None
	})
	_, err := op.call(ctx, w.processor, c)
	w.account.Faults(nil)
	switch {
	case seen.Load() < int64(n):
		require.NoError(w, err)
		return false
	case tr.stop && !errors.Is(err, context.Canceled) && !errors.Is(err, processor.ErrUnavailable) && err != nil:
		w.Errorf("request %d: a call whose context was cancelled returned %v", n, err)
	case !tr.stop && err != nil && !errors.Is(err, processor.ErrUnavailable):
		w.Errorf("request %d: %v, want an ErrUnavailable or a success", n, err)
	}
	return true
}

// showsExactly checks that the account holds one coupon of ours with at most one
// active promotion code, or nothing of ours.
func (w *world) showsExactly(c coupon.Coupon, gone bool, when string) {
	w.Helper()
	var ours []stripefake.Coupon
	for _, o := range w.account.Coupons() {
		if o.Metadata["couponId"] == c.ID {
			ours = append(ours, o)
		}
	}
	active := 0
	for _, code := range w.account.PromotionCodes() {
		if code.Active {
			active++
		}
	}
	if gone {
		if len(ours) != 0 || active != 0 {
			w.Errorf("%s: %d coupons and %d active codes are left", when, len(ours), active)
		}
		return
	}
	if len(ours) != 1 {
		w.Errorf("%s: %d coupons, want 1: %+v", when, len(ours), ours)
		return
	}
	want := stripefake.Coupon{
		ID: c.Mirror.CouponID, Name: c.Name, AmountOff: 1000, Currency: "eur", Duration: "once", MaxRedemptions: c.Limits.MaxUses,
		Metadata: map[string]string{"app": "couponkit", "couponId": c.ID, "kind": "mirror", "rev": fmt.Sprint(c.Revision)},
	}
	if diff := cmp.Diff(want, ours[0], cmpopts.IgnoreUnexported(stripefake.Coupon{}), cmpopts.IgnoreFields(stripefake.Coupon{}, "Created", "TimesRedeemed")); diff != "" {
		w.Errorf("%s: the coupon (-want +got):\n%s", when, diff)
	}
	wantActive := 0
	if c.Active() {
		wantActive = 1
	}
	if active != wantActive {
		w.Errorf("%s: %d active codes, want %d", when, active, wantActive)
	}
	status, err := w.processor.VerifyMirror(w.Context(), c)
	if err != nil || (status == processor.MirrorValid) != c.Active() {
		w.Errorf("%s: VerifyMirror says %s, %v", when, status, err)
	}
}

// TestCrashMatrixOfSessions does the same for sessions with a coupon of their own.
func TestCrashMatrixOfSessions(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= 2; n++ {
				w := newWorld(t)
				r := w.subscription("key")
				create := operation{call: func(ctx context.Context, p *stripeprocessor.Processor, _ coupon.Coupon) (coupon.Mirror, error) {
					_, err := p.CreateSession(ctx, r)
					return coupon.Mirror{}, err
				}}
				require.True(t, w.meets(create, tr, coupon.Coupon{}, n))
				w.clock.Advance(time.Minute)
				first, err := w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
				second, err := w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
				if first.ID != second.ID {
					t.Errorf("request %d: two sessions %s and %s for one key", n, first.ID, second.ID)
				}
				open := 0
				for _, s := range w.account.Sessions() {
					if s.Status == "open" {
						open++
					}
				}
				if coupons := len(w.account.Coupons()); open != 1 || coupons != 1 {
					t.Errorf("request %d: %d open sessions and %d coupons, want 1 and 1", n, open, coupons)
				}
			}
		})
	}
}

// TestCrashMatrixOfPayments: a session without a coupon of its own is one request.
func TestCrashMatrixOfPayments(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.request("key")
			create := operation{call: func(ctx context.Context, p *stripeprocessor.Processor, _ coupon.Coupon) (coupon.Mirror, error) {
				_, err := p.CreateSession(ctx, r)
				return coupon.Mirror{}, err
			}}
			require.True(t, w.meets(create, tr, coupon.Coupon{}, 1))
			made, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			if sessions := w.account.Sessions(); len(sessions) != 1 || sessions[0].ID != made.ID {
				t.Errorf("%d sessions, want the one that was returned", len(sessions))
			}
		})
	}
}

// TestCrashMatrixOfExpiry: whatever happens to any request, the repeated call ends the
// session and removes its coupon.
func TestCrashMatrixOfExpiry(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			struck := 0
			for n := 1; ; n++ {
				w := newWorld(t)
				s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
				require.NoError(t, err)
				expire := operation{call: func(ctx context.Context, p *stripeprocessor.Processor, _ coupon.Coupon) (coupon.Mirror, error) {
					_, err := p.ExpireSession(ctx, s.ID)
					return coupon.Mirror{}, err
				}}
				if !w.meets(expire, tr, coupon.Coupon{}, n) {
					break
				}
				struck++
				ended, err := w.processor.ExpireSession(t.Context(), s.ID)
				require.NoError(t, err)
				if ended.Status != processor.SessionExpired || len(w.account.Coupons()) != 0 {
					t.Errorf("request %d: the session is %s, and %d coupons are left", n, ended.Status, len(w.account.Coupons()))
				}
			}
			if struck < 4 {
				t.Errorf("only %d requests, want a look, the expiry, and the coupon's look and removal", struck)
			}
		})
	}
}
