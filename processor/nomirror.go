package processor

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
)

// NoMirror implements [Mirror] for a processor that cannot store coupons. The adapter for a
// processor without coupons embeds NoMirror.
//
// NoMirror treats every coupon as its own mirror. The mirror always exists and has the coupon's
// ID and revision. The mirror is valid while the coupon is active or pending. NoMirror keeps no
// state.
type NoMirror struct{}

var _ Mirror = NoMirror{}

// EnsureMirror implements [Mirror]. EnsureMirror returns no error other than the context's error.
func (NoMirror) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// UpdateMirror implements [Mirror]. UpdateMirror returns no error other than the context's error.
func (NoMirror) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// SetMirrorActive implements [Mirror]. SetMirrorActive returns no error other than the context's
// error.
func (NoMirror) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// RemoveMirror implements [Mirror]. RemoveMirror returns no error other than the context's error.
func (NoMirror) RemoveMirror(ctx context.Context, _ coupon.Coupon) error { return ctx.Err() }

// VerifyMirror implements [Mirror]. VerifyMirror returns no error other than the context's error.
func (NoMirror) VerifyMirror(ctx context.Context, c coupon.Coupon) (MirrorStatus, error) {
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case c.State == coupon.Active || c.State == coupon.Pending:
		return MirrorValid, nil
	default:
		return MirrorInvalid, nil
	}
}

// itself is a coupon as its own mirror.
func itself(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	if err := ctx.Err(); err != nil {
		return coupon.Mirror{}, err
	}
	return coupon.Mirror{CouponID: c.ID, PromotionCodeID: c.ID, Revision: c.Revision}, nil
}
