package processor

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
)

// NoMirror is the Mirror of a processor that keeps no coupons. An adapter of one embeds
// it and has Sessions and Abilities left to write: amounts are adjusted before they
// reach the processor, so that it need not know of any coupon.
//
// Its mirror of a coupon is the coupon: always there, of the coupon's revision, valid
// while the coupon is switched on, and named by the coupon's own ID. So nothing ever
// differs, and nothing is kept that several processes would have to share.
type NoMirror struct{}

var _ Mirror = NoMirror{}

// EnsureMirror implements [Mirror]. Its only error is that of a context that has ended.
func (NoMirror) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// UpdateMirror implements [Mirror]. Its only error is that of a context that has ended.
func (NoMirror) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// SetMirrorActive implements [Mirror]. Its only error is that of a context that has
// ended.
func (NoMirror) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return itself(ctx, c)
}

// RemoveMirror implements [Mirror]. Its only error is that of a context that has ended.
func (NoMirror) RemoveMirror(ctx context.Context, _ coupon.Coupon) error { return ctx.Err() }

// VerifyMirror implements [Mirror]. Its only error is that of a context that has ended.
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
