package stripeprocessor

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// VerifyMirror implements [processor.Mirror] (specification 4.4, validation 8). It
// makes one call. MirrorValid requires a valid Stripe coupon and, if the coupon has a
// code, an active promotion code. For a coupon that Stripe cannot express, VerifyMirror makes no call and returns
// MirrorUnsupported; see [Processor.CanMirror].
func (p *Processor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	if err := ctx.Err(); err != nil {
		return 0, ended(opReadCode, err)
	}
	if !p.CanMirror(c) {
		return processor.MirrorUnsupported, nil
	}
	if c.Mirror.CouponID != "" && c.Code.IsZero() {
		return p.verifyCoupon(ctx, c)
	}
	if c.Mirror.CouponID == "" || c.Mirror.PromotionCodeID == "" {
		return processor.MirrorMissing, nil
	}
	code, err := p.readCode(ctx, c.Mirror.PromotionCodeID)
	if errors.Is(err, processor.ErrNotFound) {
		return processor.MirrorMissing, nil
	}
	if err != nil {
		return 0, err
	}
	full, id := object(code)
	if full == nil && id != "" {
		// Stripe returned only the ID. The other fields are empty, and the coupon would look invalid.
		full, err = p.readCoupon(ctx, id)
		switch {
		case errors.Is(err, processor.ErrNotFound):
			full = nil
		case err != nil:
			return 0, err
		}
	}
	return mirrorStatus(c.Mirror, code, full), nil
}

// verifyCoupon verifies the mirror of a coupon without a code. Such a mirror is a Stripe coupon alone.
func (p *Processor) verifyCoupon(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	there, err := p.readCoupon(ctx, c.Mirror.CouponID)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return processor.MirrorMissing, nil
	case err != nil:
		return 0, err
	case there.Deleted:
		return processor.MirrorMissing, nil
	case !there.Valid:
		return processor.MirrorInvalid, nil
	}
	return processor.MirrorValid, nil
}

func mirrorStatus(m coupon.Mirror, code *stripe.PromotionCode, full *stripe.Coupon) processor.MirrorStatus {
	switch {
	case full == nil || full.Deleted:
		return processor.MirrorMissing
	case full.ID != m.CouponID || !code.Active || !full.Valid:
		return processor.MirrorInvalid
	}
	return processor.MirrorValid
}
