package stripeprocessor

import (
	"context"
	"errors"
	"slices"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// RemoveMirror implements [processor.Mirror]. It deactivates the promotion codes with
// the coupon's code. It then deletes their Stripe coupons and the coupon of c.Mirror.
// It also deletes objects of unfinished calls since the revision of c.Mirror. A coupon that Stripe
// cannot express has no objects, and RemoveMirror makes no call.
func (p *Processor) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	if c.ID == "" {
		return refused(opRemove, ErrInvalid, errors.New("a coupon without an ID"))
	}
	if !p.CanMirror(c) {
		if err := ctx.Err(); err != nil {
			return ended(opRemove, err)
		}
		return nil
	}
	found, err := p.survey(ctx, c)
	if err != nil {
		return err
	}
	if err := p.deactivate(ctx, found.ours, ""); err != nil {
		return err
	}
	return p.retire(ctx, c, "", found, c.Revision)
}

// maxRevisions is the number of revisions in which retire looks for objects of unfinished calls. The
// service's Reconcile finds older objects.
const maxRevisions = 8

// retire deletes our coupons that mirror c, except keep. Their promotion codes are already inactive. It
// looks at revisions up to last.
func (p *Processor) retire(ctx context.Context, c coupon.Coupon, keep string, found survey, last int64) error {
	done := map[string]bool{keep: true, "": true}
	since := c.Mirror.Revision
	if keep != "" && keep == c.Mirror.CouponID {
		since++ // if keep is not in use, a repair of that revision may have begun to replace it
	}
	for revision := last; revision >= max(since, last-maxRevisions+1, 1); revision-- {
		if err := p.retireRevision(ctx, c, revision, found, done); err != nil {
			return err
		}
	}
	for _, id := range candidates(c, found) {
		if done[id] {
			continue
		}
		there, err := p.known(ctx, id, found)
		if errors.Is(err, processor.ErrNotFound) {
			continue
		}
		if err == nil {
			err = p.retireOne(ctx, c, there, done)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retireRevision deletes the objects of a revision, the last one first. A call makes another object
// only if the one before exists. So an interrupted call leaves no gap, and the next call finds the
// rest.
func (p *Processor) retireRevision(ctx context.Context, c coupon.Coupon, revision int64, found survey, done map[string]bool) error {
	var made []*stripe.Coupon
	for try := 1; try <= maxTries; try++ {
		there, err := p.known(ctx, p.mirrorID(c.ID, revision, try), found)
		if errors.Is(err, processor.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		made = append(made, there)
	}
	for _, there := range slices.Backward(made) {
		if err := p.retireOne(ctx, c, there, done); err != nil {
			return err
		}
	}
	return nil
}

func (p *Processor) retireOne(ctx context.Context, c coupon.Coupon, there *stripe.Coupon, done map[string]bool) error {
	if done[there.ID] || !p.owns(there.Metadata, c.ID) {
		return nil
	}
	done[there.ID] = true
	return p.deleteCoupon(ctx, there.ID)
}
