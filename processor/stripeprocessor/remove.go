package stripeprocessor

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// RemoveMirror deactivates our promotion codes with the coupon's code, then deletes
// our coupons behind them, that of c.Mirror, and what an unfinished call of this
// revision or of one since c.Mirror, its own included, may have left. What is gone is no
// error, and objects without our metadata stay.
func (p *Processor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	if c.ID == "" {
		return refused(opRemove, ErrInvalid, errors.New("a coupon without an ID"))
	}
	defer p.verified.drop(c.Mirror.CouponID, c.Mirror.PromotionCodeID)
	found, err := p.survey(ctx, c)
	if err != nil {
		return err
	}
	if err := p.deactivate(ctx, found.ours, ""); err != nil {
		return err
	}
	return p.retire(ctx, c, "", found, c.Revision)
}

// maxRevisions bounds how many revisions are searched for what an unfinished call
// has left without a promotion code. What is older is the sweep's.
const maxRevisions = 8

// retire deletes every coupon of ours that mirrors c but the one to keep. Their
// promotion codes are inactive already. Revisions up to the last are searched.
func (p *Processor) retire(ctx context.Context, c coupon.Coupon, keep string, found survey, last int64) error {
	done := map[string]bool{keep: true, "": true}
	for _, id := range candidates(c, found) {
		if err := p.retireOne(ctx, c, id, found, done); err != nil {
			return err
		}
	}
	since := c.Mirror.Revision
	if keep != "" && keep == c.Mirror.CouponID {
		since++ // otherwise a repair of that revision may have begun to replace it
	}
	for revision := last; revision >= max(since, last-maxRevisions+1, 1); revision-- {
		if err := p.retireOne(ctx, c, p.mirrorID(c.ID, revision, 1), found, done); err != nil {
			return err
		}
	}
	return nil
}

func (p *Processor) retireOne(ctx context.Context, c coupon.Coupon, id string, found survey, done map[string]bool) error {
	if done[id] {
		return nil
	}
	done[id] = true
	there, err := p.known(ctx, id, found)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !p.owns(there.Metadata, c.ID):
		return nil
	}
	return p.deleteCoupon(ctx, id)
}
