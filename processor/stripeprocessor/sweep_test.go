package stripeprocessor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
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

// records is the host's table of coupons.
type records struct {
	mu   sync.Mutex
	byID map[string]coupon.Coupon
}

func (r *records) put(list ...coupon.Coupon) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]coupon.Coupon{}
	}
	for _, c := range list {
		r.byID[c.ID] = c
	}
}

func (r *records) coupon(_ context.Context, id string) (coupon.Coupon, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, known := r.byID[id]
	return c, known, nil
}

// damaged is an account in which everything has gone wrong that the sweep knows of,
// and the kind of finding by coupon.
func damaged(w *world) (*records, map[string]stripeprocessor.FindingKind) {
	w.Helper()
	hosts, want := &records{}, map[string]stripeprocessor.FindingKind{}
	coded := func(id, code string, kind stripeprocessor.FindingKind) coupon.Coupon {
		c := w.mirrored(newCoupon(w, id, code))
		if kind != 0 {
			want[c.ID] = kind
		}
		hosts.put(c)
		return c
	}
	put := func(id string, kind stripeprocessor.FindingKind) coupon.Coupon { return coded(id, "CODE-"+id, kind) }
	for i := range 120 {
		put(fmt.Sprintf("fine%d", i), 0)
	}
	require.NoError(w, w.account.PlantCoupon("staff", nil))
	_, err := w.account.PlantCode("staff", "STAFF", true, nil)
	require.NoError(w, err)

	gone := w.mirrored(newCoupon(w, "gone", "CODE-gone"))
	want[gone.ID] = stripeprocessor.Orphan
	put("off", stripeprocessor.WrongActive)
	require.NoError(w, w.account.SetCodeActive(hosts.byID["cpn_off"].Mirror.PromotionCodeID, false))
	put("renamed", stripeprocessor.WrongName)
	require.NoError(w, w.account.EditCoupon("ck_cpn_renamed_r1", func(o *stripefake.Coupon) { o.Name = "By hand" }))
	codeless := put("codeless", stripeprocessor.CodeMissing)
	w.account.DropCode(codeless.Mirror.PromotionCodeID)
	_, err = w.account.PlantCode(codeless.Mirror.CouponID, "BY-HAND", true, nil) // not ours, though on our coupon
	require.NoError(w, err)
	twice := put("twice", stripeprocessor.Orphan) // whose older object was left
	require.NoError(w, w.account.PlantCoupon("ck_cpn_twice_r0", map[string]string{"app": "couponkit", "couponId": twice.ID, "kind": "mirror"}))
	retried := put("retried", 0) // of whose two promotion codes the younger is off
	_, err = w.account.PlantCode(retried.Mirror.CouponID, retried.Code.String(), false, map[string]string{"app": "couponkit", "couponId": retried.ID})
	require.NoError(w, err)
	hosts.put(edited(put("deleting", 0), func(c *coupon.Coupon) { c.State, c.Mirror = coupon.Deleting, coupon.Mirror{} }))
	put("dead", stripeprocessor.WrongTerms)
	require.NoError(w, w.account.EditCoupon("ck_cpn_dead_r1", func(o *stripefake.Coupon) { o.RedeemBy = w.clock.Now().Unix() }))
	lost := put("lost", stripeprocessor.Unrecorded)
	hosts.put(edited(lost, func(c *coupon.Coupon) { c.Limits.MaxUses = 4 }))
	pending := edited(put("pending", 0), func(c *coupon.Coupon) { c.State, c.Mirror = coupon.Pending, coupon.Mirror{} })
	hosts.put(pending)

	coded("members", "", 0) // without a plain code: a coupon alone, which has no state
	resting := coded("resting", "", 0)
	resting.State = coupon.Inactive
	hosts.put(resting)
	opened := coded("opened", "", stripeprocessor.WrongActive)
	_, err = w.account.PlantCode(opened.Mirror.CouponID, "OPENED", true, map[string]string{"app": "couponkit", "couponId": opened.ID})
	require.NoError(w, err)
	retitled := coded("retitled", "", stripeprocessor.WrongName)
	require.NoError(w, w.account.EditCoupon(retitled.Mirror.CouponID, func(o *stripefake.Coupon) { o.Name = "By hand" }))

	_, err = w.processor.CreateSession(w.Context(), w.subscription("key"))
	require.NoError(w, err)
	return hosts, want
}

// sweep collects the findings.
func (w *world) sweep(o stripeprocessor.SweepOptions) []stripeprocessor.Finding {
	w.Helper()
	o.PerSecond = -1
	var found []stripeprocessor.Finding
	for f, err := range w.processor.Sweep(w.Context(), o) {
		require.NoError(w, err)
		found = append(found, f)
	}
	return found
}

func kinds(found []stripeprocessor.Finding) map[string]stripeprocessor.FindingKind {
	out := map[string]stripeprocessor.FindingKind{}
	for _, f := range found {
		if f.Kind != stripeprocessor.SessionCoupon {
			out[f.CouponID] = f.Kind
		}
	}
	return out
}

// TestSweepLeavesWhatIsInUse: the coupon of a session that can still be paid, and the
// object that becomes the mirror because the one on record is gone.
func TestSweepLeavesWhatIsInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	r.ExpiresAt = w.clock.Now().Add(23 * time.Hour)
	s, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	hosts := &records{}
	hosts.put(edited(c, func(c *coupon.Coupon) { c.Mirror.CouponID, c.Mirror.Revision = "ck_cpn_a_r2", 2 }))
	w.clock.Advance(22 * time.Hour)
	found := w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: true})
	require.Len(t, found, 1)
	require.True(t, found[0].Repaired, "%+v", found[0])
	c.Mirror = found[0].Now
	status, err := w.processor.VerifyMirror(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, processor.MirrorValid, status)
	require.NoError(t, w.account.Pay(s.ID))
}

// TestSweepReports and changes nothing.
func TestSweepReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts, want := damaged(w)
	require.Empty(t, w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon}), "young objects may be at work")
	w.clock.Advance(3 * time.Hour)
	before := len(w.account.Calls())
	found := w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon})
	if diff := cmp.Diff(want, kinds(found)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	sessions := 0
	for _, f := range found {
		if f.Repaired || f.Err != nil {
			t.Errorf("a dry run has changed something: %+v", f)
		}
		if f.Kind == stripeprocessor.SessionCoupon {
			sessions++
		}
	}
	if sessions != 1 {
		t.Errorf("%d coupons of ended sessions, want 1", sessions)
	}
	for _, call := range w.account.Calls()[before:] {
		if call.Op != "coupons.list" && call.Op != "promotion_codes.list" {
			t.Errorf("a dry run has called %s", call.Op)
		}
	}
}

// TestSweepRepairs what it finds, also when two sweeps run at once; then there is
// nothing left to find, and nothing foreign has changed.
func TestSweepRepairs(t *testing.T) {
	t.Parallel()
	for _, sweeps := range []int{1, 2} {
		w := newWorld(t)
		hosts, _ := damaged(w)
		w.clock.Advance(3 * time.Hour)
		var running sync.WaitGroup
		for range sweeps {
			running.Go(func() {
				o := stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: true, PerSecond: -1}
				for f, err := range w.processor.Sweep(w.Context(), o) {
					if err != nil || sweeps == 1 && (f.Err != nil || !f.Repaired) {
						t.Errorf("finding %+v: %v", f, err)
					}
					if c, known, _ := hosts.coupon(t.Context(), f.CouponID); known && f.Repaired && f.Now.CouponID != "" {
						c.Mirror = f.Now
						hosts.put(c)
					}
				}
			})
		}
		running.Wait()
		w.clock.Advance(3 * time.Hour)
		if sweeps > 1 { // of two answers for one coupon, the host may have stored the older
			for _, f := range w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: true}) {
				c := hosts.byID[f.CouponID]
				c.Mirror = f.Now
				hosts.put(c)
			}
			w.clock.Advance(3 * time.Hour)
		}
		if left := w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon}); len(left) != 0 {
			t.Errorf("%d sweeps have left %+v", sweeps, left)
		}
		for id, c := range hosts.byID {
			if c.State != coupon.Active {
				continue
			}
			status, err := w.processor.VerifyMirror(t.Context(), c)
			if err != nil || status != processor.MirrorValid {
				t.Errorf("%s is %s, %v", id, status, err)
			}
		}
		staff := 0
		for _, c := range w.account.Coupons() {
			if c.ID == "staff" {
				staff++
			}
		}
		if _, known := hosts.byID["cpn_gone"]; known || staff != 1 {
			t.Error("the foreign coupon is gone")
		}
	}
}

// TestSweepEnds with the context, with an error of the host, and when told.
func TestSweepEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts, _ := damaged(w)
	w.clock.Advance(3 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := error(nil)
	for _, err := range w.processor.Sweep(ctx, stripeprocessor.SweepOptions{Coupon: hosts.coupon, PerSecond: 0.0001}) {
		last = err
		cancel() // or the next object is looked at in three hours
	}
	require.ErrorIs(t, last, context.Canceled)

	down := errors.New("store is down")
	failures := 0
	for _, err := range w.processor.Sweep(t.Context(), stripeprocessor.SweepOptions{
		Coupon: func(context.Context, string) (coupon.Coupon, bool, error) { return coupon.Coupon{}, false, down }, PerSecond: -1,
	}) {
		if err != nil { // the session's coupon needs no record
			require.ErrorIs(t, err, down)
			failures++
		}
	}
	require.Equal(t, 1, failures)

	seen := 0
	for range w.processor.Sweep(t.Context(), stripeprocessor.SweepOptions{Coupon: hosts.coupon, PerSecond: -1}) {
		seen++
		break
	}
	require.Equal(t, 1, seen)

	for _, err := range w.processor.Sweep(t.Context(), stripeprocessor.SweepOptions{}) {
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	}
}

// TestSweepKeepsItsPace: at one object in three hours and an hour to go, the first is
// looked at, and the second is known to come too late.
func TestSweepKeepsItsPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts, _ := damaged(w)
	w.clock.Advance(3 * time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	found, last := 0, error(nil)
	for _, err := range w.processor.Sweep(ctx, stripeprocessor.SweepOptions{Coupon: hosts.coupon, PerSecond: 0.0001}) {
		if last = err; err == nil {
			found++
		}
	}
	require.LessOrEqual(t, found, 1)
	require.ErrorIs(t, last, context.DeadlineExceeded)
}

// TestSweepBesideAnEdit: what the sweep has read is old when it repairs, and what an edit has
// made meanwhile is not taken back.
func TestSweepBesideAnEdit(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*coupon.Coupon){
		"edited":  func(c *coupon.Coupon) { c.Limits.MaxUses = 7 },
		"deleted": func(c *coupon.Coupon) { c.State = coupon.Deleting },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.mirrored(newCoupon(t, "a", "TEN"))
			require.NoError(t, w.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.Name = "By hand" }))
			w.clock.Advance(2 * time.Hour)
			hosts := &records{}
			hosts.put(c)
			lists := 0
			repairing := &meanwhile{
				method: http.MethodGet, path: "/promotion_codes", when: func() bool { lists++; return lists == 2 }, // the first is of all
				do: func() {
					c = edited(c, edit)
					var err error
					if c.State == coupon.Deleting {
						err = w.processor.RemoveMirror(t.Context(), c)
					} else {
						c.Mirror, err = w.processor.UpdateMirror(t.Context(), c)
					}
					require.NoError(t, err)
					hosts.put(c)
				},
			}
			var found []stripeprocessor.Finding
			for f, err := range w.interrupted(repairing).Sweep(t.Context(), stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: true, PerSecond: -1}) {
				require.NoError(t, err)
				found = append(found, f)
			}
			require.Len(t, found, 1)
			if name == "deleted" {
				require.ErrorIs(t, found[0].Err, processor.ErrUnavailable)
				require.Zero(t, found[0].Now)
				return
			}
			require.True(t, found[0].Repaired)
			require.Equal(t, c.Revision, found[0].Now.Revision)
			c.Mirror = found[0].Now
			w.showsExactly(c, false, "after the sweep")
		})
	}
}

// TestSweepFindsACodeAlone: the coupon behind an active promotion code of ours has lost our
// metadata, by staff.
func TestSweepFindsACodeAlone(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"a coupon that is stored": true, "of none": false} {
		for _, repair := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, repair %t", name, repair), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				c := w.mirrored(newCoupon(t, "a", "TEN"))
				w.mirrored(newCoupon(t, "b", "OTHER"))
				require.NoError(t, w.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.Metadata = nil }))
				hosts := &records{}
				other := w.mirrored(newCoupon(t, "b", "OTHER"))
				hosts.put(other)
				if known {
					hosts.put(c)
				}
				require.Empty(t, w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: repair}), "too young")
				w.clock.Advance(2 * time.Hour)
				found := w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon, Repair: repair})
				repaired := repair && !known
				want := []stripeprocessor.Finding{{
					Kind: stripeprocessor.Orphan, CouponID: c.ID, Repaired: repaired,
					Mirror: coupon.Mirror{CouponID: c.Mirror.CouponID, PromotionCodeID: c.Mirror.PromotionCodeID},
				}}
				if known && repair {
					// The ID of this revision is somebody else's now; the next edit has another.
					require.ErrorIs(t, found[0].Err, stripeprocessor.ErrConflict)
					want[0].Err = found[0].Err
				}
				if diff := cmp.Diff(want, found, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
				for _, code := range w.account.PromotionCodes() {
					if code.ID == want[0].Mirror.PromotionCodeID && code.Active == repaired {
						t.Errorf("the code is active: %t", code.Active)
					}
				}
				require.Equal(t, repaired, len(w.sweep(stripeprocessor.SweepOptions{Coupon: hosts.coupon})) == 0)
			})
		}
	}
}
