package processor

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
)

// NoMirror implements [Mirror] for a processor that cannot store coupons. The adapter for a
// processor without coupons embeds NoMirror.
//
// NoMirror returns an unsupported mirror for every coupon. NoMirror keeps no state.
type NoMirror struct{}

var _ Mirror = NoMirror{}

// EnsureMirror implements [Mirror]. EnsureMirror returns no error other than the context's error.
func (NoMirror) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return unsupported(ctx, c)
}

// UpdateMirror implements [Mirror]. UpdateMirror returns no error other than the context's error.
func (NoMirror) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return unsupported(ctx, c)
}

// SetMirrorActive implements [Mirror]. SetMirrorActive returns no error other than the context's
// error.
func (NoMirror) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return unsupported(ctx, c)
}

// RemoveMirror implements [Mirror]. RemoveMirror returns no error other than the context's error.
func (NoMirror) RemoveMirror(ctx context.Context, _ coupon.Coupon) error { return ctx.Err() }

// VerifyMirror implements [Mirror]. VerifyMirror returns no error other than the context's error.
func (NoMirror) VerifyMirror(ctx context.Context, _ coupon.Coupon) (MirrorStatus, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return MirrorUnsupported, nil
}

// unsupported returns the mirror for a coupon that the processor cannot express.
func unsupported(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	if err := ctx.Err(); err != nil {
		return coupon.Mirror{}, err
	}
	return coupon.Mirror{Revision: c.Revision, Unsupported: true}, nil
}
