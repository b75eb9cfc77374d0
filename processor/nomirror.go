package processor

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
)

// NoMirror is the [Mirror] of a processor that keeps no coupons. The adapter of such a
// processor embeds NoMirror.
//
// Every coupon acts as its own mirror. The mirror always exists, with the coupon's ID
// and revision. It is valid while the coupon is active or pending. NoMirror keeps no
// state.
type NoMirror struct{}

var _ Mirror = NoMirror{}

// EnsureMirror implements [Mirror]. The only error is the context's error.
func (NoMirror) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// UpdateMirror implements [Mirror]. The only error is the context's error.
func (NoMirror) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// SetMirrorActive implements [Mirror]. The only error is the context's error.
func (NoMirror) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// RemoveMirror implements [Mirror]. The only error is the context's error.
func (NoMirror) RemoveMirror(ctx context.Context, _ coupon.Coupon) error { return ctx.Err() }

// VerifyMirror implements [Mirror]. The only error is the context's error.
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
