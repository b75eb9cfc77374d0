package stripeprocessor

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// Mirrors implements [processor.MirrorLister]. It yields every Stripe coupon of this
// application, with its active promotion code, if any. It then yields active promotion
// codes of this application whose Stripe coupon has lost its metadata. It first lists
// all promotion codes and keeps those of this application in memory. The caller may
// remove mirrors while iterating.
func (p *Processor) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	return func(yield func(processor.MirrorRef, error) bool) {
		codes, err := p.codesByCoupon(ctx)
		if err != nil {
			yield(processor.MirrorRef{}, err)
			return
		}
		for found, err := range p.coupons(ctx) {
			if err != nil {
				yield(processor.MirrorRef{}, err)
				return
			}
			if !p.mirrors(found) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(processor.MirrorRef{}, ended(opListCoupons, err))
				return
			}
			active := ""
			if code := codes[found.ID]; code.active {
				active = code.id
			}
			delete(codes, found.ID)
			if !yield(mirrorRef(found, active), nil) {
				return
			}
		}
		for id, code := range codes {
			alone, err := p.isAlone(ctx, code)
			if err != nil {
				yield(processor.MirrorRef{}, err)
				return
			}
			if alone && !yield(processor.MirrorRef{CouponID: code.of, Mirror: coupon.Mirror{CouponID: id, PromotionCodeID: code.id}}, nil) {
				return
			}
		}
	}
}

// isAlone reads a promotion code again, because it may have changed since it was listed. It reports
// whether the code is active and its Stripe coupon is no mirror of ours.
func (p *Processor) isAlone(ctx context.Context, code listedCode) (bool, error) {
	if !code.active {
		return false, nil
	}
	now, err := p.readCode(ctx, code.id)
	if errors.Is(err, processor.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	full, _ := object(now)
	return now.Active && full != nil && !full.Deleted && !p.mirrors(full), nil
}

func mirrorRef(found *stripe.Coupon, codeID string) processor.MirrorRef {
	revision, _ := strconv.ParseInt(found.Metadata[metadataRevision], 10, 64) // written by this package; 0 if somebody has edited it
	return processor.MirrorRef{
		CouponID: found.Metadata[metadataCouponID],
		Mirror:   coupon.Mirror{CouponID: found.ID, PromotionCodeID: codeID, Revision: revision},
	}
}

// listedCode is a promotion code made by this package.
type listedCode struct {
	id     string
	of     string // ID of our coupon
	active bool
}

// codesByCoupon returns our promotion code for each coupon at Stripe. If there are several, it returns
// the active code.
func (p *Processor) codesByCoupon(ctx context.Context) (map[string]listedCode, error) {
	codes := map[string]listedCode{}
	for code, err := range p.codes(ctx, stripe.PromotionCodeListParams{}) {
		if err != nil {
			return nil, err
		}
		if !p.owns(code.Metadata, code.Metadata[metadataCouponID]) {
			continue
		}
		_, couponID := object(code)
		if known, ok := codes[couponID]; !ok || code.Active && !known.active {
			codes[couponID] = listedCode{id: code.ID, of: code.Metadata[metadataCouponID], active: code.Active}
		}
	}
	return codes, nil
}
