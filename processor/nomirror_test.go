package processor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// TestNoMirror: the mirror of a processor that keeps no coupons is the coupon itself.
func TestNoMirror(t *testing.T) {
	t.Parallel()
	var none processor.NoMirror
	for state, want := range map[coupon.State]processor.MirrorStatus{
		coupon.Pending: processor.MirrorValid, coupon.Active: processor.MirrorValid,
		coupon.Inactive: processor.MirrorInvalid, coupon.Deleting: processor.MirrorInvalid,
	} {
		c := coupon.Coupon{ID: "cpn_a", State: state, Revision: 7}
		for name, call := range map[string]func(context.Context, coupon.Coupon) (coupon.Mirror, error){
			"EnsureMirror": none.EnsureMirror, "UpdateMirror": none.UpdateMirror, "SetMirrorActive": none.SetMirrorActive,
		} {
			m, err := call(t.Context(), c)
			if c.Mirror = m; err != nil || !c.Mirrored() {
				t.Errorf("%s of a coupon that is %s: %+v, %v", name, state, m, err)
			}
		}
		if got, err := none.VerifyMirror(t.Context(), c); err != nil || got != want {
			t.Errorf("a coupon that is %s is %s, %v, want %s", state, got, err, want)
		}
		if err := none.RemoveMirror(t.Context(), c); err != nil {
			t.Errorf("RemoveMirror of a coupon that is %s: %v", state, err)
		}
	}
}

func TestNoMirrorObeysItsContext(t *testing.T) {
	t.Parallel()
	var none processor.NoMirror
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var errs [5]error
	_, errs[0] = none.EnsureMirror(ended, coupon.Coupon{})
	_, errs[1] = none.UpdateMirror(ended, coupon.Coupon{})
	_, errs[2] = none.SetMirrorActive(ended, coupon.Coupon{})
	_, errs[3] = none.VerifyMirror(ended, coupon.Coupon{})
	errs[4] = none.RemoveMirror(ended, coupon.Coupon{})
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d with an ended context returned %v", i, err)
		}
	}
}
