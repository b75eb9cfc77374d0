package stripeprocessor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/store"
)

// leftCoupons makes two sessions whose first period has a coupon, and that end in an hour and in a day.
func leftCoupons(w *world) (ended, open string) {
	w.Helper()
	for _, life := range []time.Duration{time.Hour, 23 * time.Hour} {
		r := w.subscription(life.String())
		r.ExpiresAt = w.clock.Now().Add(life)
		_, err := w.processor.CreateSession(w.Context(), r)
		require.NoError(w, err)
	}
	sessions := w.account.Sessions()
	require.Len(w, sessions, 2)
	return sessions[0].CouponID, sessions[1].CouponID
}

func (w *world) couponIDs() (ids []string) {
	for _, c := range w.account.Coupons() {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestSweep: the coupon of an ended session goes, an hour after the end. Stay: the coupon of a session
// that can be paid, mirrors, and objects of others.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, open := leftCoupons(w)
	mirror := w.mirrored(newCoupon(t, "a", "TEN")).Mirror.CouponID
	const theirs = "ck_s_theirs"
	require.NoError(t, w.account.PlantCoupon(theirs, map[string]string{"app": "other", "kind": "session"}))
	require.NoError(t, w.account.EditCoupon(theirs, func(c *stripefake.Coupon) { c.RedeemBy = w.clock.Now().Unix() }))
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{time.Hour, []string{ended, open, mirror, theirs}},
		{2 * time.Hour, []string{open, mirror, theirs}},
		{22 * time.Hour, []string{mirror, theirs}},
	} {
		before := len(w.couponIDs())
		w.clock.Advance(step.after)
		deleted, err := w.processor.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, step.want, w.couponIDs())
		require.Equal(t, before-len(step.want), deleted)
	}
}

// TestSweepTwiceAtOnce: both succeed, and nothing is left.
func TestSweepTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leftCoupons(w)
	w.clock.Advance(30 * time.Hour)
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			if _, err := w.processor.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	require.Empty(t, w.couponIDs())
}

// TestSweepGoesOn after a coupon that it cannot delete, and ends with the context.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leftCoupons(w)
	w.clock.Advance(30 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.processor.Sweep(ctx)
	require.ErrorIs(t, err, context.Canceled)

	first := ""
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Op != "coupons.delete" {
			return stripefake.None
		}
		if first == "" {
			first = c.Path
		}
		if c.Path == first {
			return stripefake.Unavailable
		}
		return stripefake.None
	})
	deleted, err := w.processor.Sweep(t.Context())
	require.ErrorIs(t, err, processor.ErrUnavailable)
	require.Equal(t, 1, deleted)
	require.Len(t, w.couponIDs(), 1)
}

// TestReconcileRepairsWhatStaffChanged: afterwards every mirror is valid, no other object of ours is left,
// another reconcile finds nothing, and objects of others are as before.
func TestReconcileRepairsWhatStaffChanged(t *testing.T) {
	t.Parallel()
	ours := func(c coupon.Coupon) map[string]string {
		return map[string]string{"app": "couponkit", "couponId": c.ID, "kind": "mirror"}
	}
	for name, test := range map[string]struct {
		withoutCode bool
		change      func(s *shop, c coupon.Coupon) error
	}{
		"nothing":                 {false, func(*shop, coupon.Coupon) error { return nil }},
		"the promotion code off":  {false, func(s *shop, c coupon.Coupon) error { return s.account.SetCodeActive(c.Mirror.PromotionCodeID, false) }},
		"the promotion code gone": {false, func(s *shop, c coupon.Coupon) error { s.account.DropCode(c.Mirror.PromotionCodeID); return nil }},
		"the coupon deleted":      {false, func(s *shop, c coupon.Coupon) error { return s.account.DeleteCoupon(c.Mirror.CouponID) }},
		"the coupon ended": {false, func(s *shop, c coupon.Coupon) error {
			return s.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.RedeemBy = s.clock.Now().Unix() })
		}},
		"an older object": {false, func(s *shop, c coupon.Coupon) error {
			return s.account.PlantCoupon("ck_"+c.ID+"_r0", ours(c))
		}},
		"an older object of the same terms": {false, func(s *shop, c coupon.Coupon) error {
			id := "ck_" + c.ID + "_r0"
			return errors.Join(s.account.PlantCoupon(id, ours(c)), s.account.EditCoupon(id, func(o *stripefake.Coupon) {
				o.PercentOff, o.MaxRedemptions = 10, 5
			}))
		}},
		"an object of no coupon": {false, func(s *shop, _ coupon.Coupon) error {
			return s.account.PlantCoupon("ck_gone_r1", ours(coupon.Coupon{ID: "cpn_gone"}))
		}},
		"a promotion code besides": {true, func(s *shop, c coupon.Coupon) error {
			_, err := s.account.PlantCode(c.Mirror.CouponID, "OPENED", true, ours(c))
			return err
		}},
		"a promotion code of no coupon, alone": {false, func(s *shop, _ coupon.Coupon) error {
			_, err := s.account.PlantCode("staff", "LEFT", true, ours(coupon.Coupon{ID: "cpn_gone"}))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			require.NoError(t, s.account.PlantCoupon("staff", nil))
			_, err := s.account.PlantCode("staff", "STAFF", true, nil)
			require.NoError(t, err)
			c := s.create("summer", 5)
			if test.withoutCode {
				c, err = s.service.Create(t.Context(), coupon.Draft{Name: "Members", DiscountType: c.Discount.Type(), Percent: "10"})
				require.NoError(t, err)
			}
			require.NoError(t, test.change(s, c))
			_, err = s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
			drifts, err := s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: true})
			require.NoError(t, err)
			require.Empty(t, drifts)
			want := []string{"staff"}
			for stored, err := range s.service.Coupons(t.Context(), store.CouponList{}) {
				require.NoError(t, err)
				want = append(want, stored.Mirror.CouponID)
				status, err := s.processor.VerifyMirror(t.Context(), stored)
				require.NoError(t, err)
				require.Equal(t, processor.MirrorValid, status)
			}
			require.ElementsMatch(t, want, s.couponIDs())
			var active []string
			for _, code := range s.account.PromotionCodes() {
				if code.Active {
					active = append(active, code.Code)
				}
			}
			require.ElementsMatch(t, []string{"STAFF", "SUMMER"}, active)
		})
	}
}

// TestReconcileReportsALostMirror: staff have taken our metadata off a coupon. It is no longer ours to
// change, and the next edit mirrors the coupon anew.
func TestReconcileReportsALostMirror(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.create("summer", 5)
	require.NoError(t, s.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.Metadata = nil }))
	_, err := s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	c, err = s.service.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Sale again")})
	require.NoError(t, err)
	drifts, err := s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Empty(t, drifts)
	s.oneActive(c.Mirror.PromotionCodeID)
}
