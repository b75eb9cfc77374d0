package processor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// TestNoMirror: a processor that keeps no coupons can express none.
func TestNoMirror(t *testing.T) {
	t.Parallel()
	var none processor.NoMirror
	for _, state := range []coupon.State{coupon.Pending, coupon.Active, coupon.Inactive, coupon.Deleting} {
		c := coupon.Coupon{ID: "cpn_a", State: state, Revision: 7}
		for name, call := range map[string]func(context.Context, coupon.Coupon) (coupon.Mirror, error){
			"EnsureMirror": none.EnsureMirror, "UpdateMirror": none.UpdateMirror, "SetMirrorActive": none.SetMirrorActive,
		} {
			m, err := call(t.Context(), c)
			if want := (coupon.Mirror{Revision: 7, Unsupported: true}); err != nil || m != want {
				t.Errorf("%s of a coupon that is %s: %+v, %v, want %+v", name, state, m, err, want)
			}
		}
		if got, err := none.VerifyMirror(t.Context(), c); err != nil || got != processor.MirrorUnsupported {
			t.Errorf("a coupon that is %s is %s, %v, want %s", state, got, err, processor.MirrorUnsupported)
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
