package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// These constants are the kinds of a [Drift].
const (
	DriftPending  = "pending"  // the creation of the coupon was interrupted
	DriftDeleting = "deleting" // the deletion of the coupon was interrupted
	DriftOutdated = "outdated" // the mirror has another revision, or can no longer express the coupon
	DriftMissing  = "missing"  // the processor no longer has the mirror
	DriftState    = "state"    // either the coupon or its mirror is active, but not both
	DriftOrphan   = "orphan"   // no coupon needs the mirror
)

// PendingTime is the age at which Reconcile removes an unfinished coupon. No creation takes that long.
const PendingTime = 15 * time.Minute

// Drift describes a coupon that differs between the store and the processor.
type Drift struct {
	Kind     string // empty if the difference is unknown
	CouponID string
	Repaired bool
	Err      error // why the difference was not repaired
}

// Reconcile compares all coupons with their mirrors and repairs the differences. A dry run repairs
// nothing. The error is the reason why Reconcile could not list all coupons or mirrors.
func (cat *Catalog) Reconcile(ctx context.Context, dryRun bool) ([]Drift, error) {
	drifts, err := cat.reconcileCoupons(ctx, dryRun)
	if err != nil {
		return drifts, err
	}
	listed, err := cat.reconcileMirrors(ctx, dryRun)
	return append(drifts, listed...), err
}

// reconcileCoupons checks all coupons of the store.
func (cat *Catalog) reconcileCoupons(ctx context.Context, dryRun bool) (drifts []Drift, err error) {
	for c, err := range cat.Coupons(ctx, store.CouponList{PageSize: store.MaxPageSize}) {
		switch unreadable := (*store.UnreadableError)(nil); {
		case errors.As(err, &unreadable):
			drifts = append(drifts, Drift{CouponID: c.ID, Err: fmt.Errorf("reconcile coupon: %w", err)})
		case err != nil:
			return drifts, fmt.Errorf("list coupons: %w", err)
		default:
			kind, repair, err := cat.compare(ctx, c)
			switch {
			case err != nil:
				drifts = append(drifts, Drift{Kind: kind, CouponID: c.ID, Err: fmt.Errorf("reconcile coupon %s: %w", c.ID, err)})
			case repair != nil:
				drifts = append(drifts, cat.repair(ctx, c, kind, repair, dryRun))
			}
		}
	}
	return drifts, nil
}

// repairFunc repairs one kind of difference.
type repairFunc func(context.Context, coupon.Coupon) error

// rewrite returns a repair that writes the mirror with the given method.
func (cat *Catalog) rewrite(write writeMirror) repairFunc {
	return func(ctx context.Context, c coupon.Coupon) error {
		_, err := cat.mirror(ctx, c, write)
		return err
	}
}

// repair repairs a difference, except in a dry run.
func (cat *Catalog) repair(ctx context.Context, c coupon.Coupon, kind string, repair repairFunc, dryRun bool) Drift {
	d := Drift{Kind: kind, CouponID: c.ID}
	if dryRun {
		return d
	}
	err := repair(ctx, c)
	if errors.Is(err, store.ErrStaleRevision) {
		// Another call has changed the coupon, and the processor may have received the older terms
		// last.
		_, err = cat.mirrorNewest(ctx, c.ID)
	}
	switch {
	case err == nil, errors.Is(err, coupon.ErrNotFound): // the deletion removes the mirror
		d.Repaired = true
	default:
		d.Err = fmt.Errorf("reconcile coupon %s: %w", c.ID, err)
	}
	return d
}

// compare returns the difference between a coupon and its mirror, and the function to repair it. The
// function is nil if there is no difference.
func (cat *Catalog) compare(ctx context.Context, c coupon.Coupon) (kind string, repair repairFunc, err error) {
	switch {
	case c.State == coupon.Pending && cat.Now().Sub(c.UpdatedAt) < PendingTime:
		return "", nil, nil // its creation may still be running
	case c.State == coupon.Pending:
		return cat.compareUnfinished(ctx, c)
	case c.State == coupon.Deleting:
		return DriftDeleting, cat.finishDelete, nil
	case !c.Mirrored():
		return DriftOutdated, cat.rewrite(cat.Mirrors.UpdateMirror), nil
	}
	status, err := cat.Mirrors.VerifyMirror(ctx, c)
	expired := !c.ExpiresAt.IsZero() && !cat.Now().Before(c.ExpiresAt)
	switch {
	case err != nil,
		status == processor.MirrorUnsupported && c.Mirror.Unsupported,
		status == processor.MirrorValid && c.Code.IsZero(), // a mirror without a code has no state
		status == processor.MirrorInvalid && expired && cat.Abilities.MirrorsExpiry:
		return "", nil, err
	case status == processor.MirrorUnsupported:
		return DriftOutdated, cat.rewrite(cat.Mirrors.UpdateMirror), nil
	case status == processor.MirrorMissing:
		return DriftMissing, cat.rewrite(cat.Mirrors.UpdateMirror), nil
	case (status == processor.MirrorValid) != c.Active():
		return DriftState, cat.rewrite(cat.Mirrors.SetMirrorActive), nil
	}
	return "", nil, nil
}

// compareUnfinished reads a pending coupon again. Its creation may have finished after the coupons were
// listed. That does not change the revision. Without this check, Reconcile could remove a coupon that
// is in use.
func (cat *Catalog) compareUnfinished(ctx context.Context, listed coupon.Coupon) (kind string, repair repairFunc, err error) {
	c, err := cat.stored(ctx, listed.ID)
	switch {
	case errors.Is(err, coupon.ErrNotFound) || err == nil && c.State != coupon.Pending:
		return "", nil, nil
	case err != nil:
		return DriftPending, nil, err
	}
	return DriftPending, cat.remove, nil
}

// reconcileMirrors checks all mirrors of the processor, if it can list them. A coupon is stored before
// its mirror is made. So a mirror without a coupon is left from a deletion. A mirror that differs from
// the recorded mirror was written by a late call.
func (cat *Catalog) reconcileMirrors(ctx context.Context, dryRun bool) (drifts []Drift, err error) {
	lister, can := cat.Mirrors.(processor.MirrorLister)
	if !can {
		return nil, nil
	}
	for ref, err := range lister.Mirrors(ctx) {
		if err != nil {
			return drifts, fmt.Errorf("list mirrors: %w", err)
		}
		c, err := cat.stored(ctx, ref.CouponID)
		switch {
		case errors.Is(err, coupon.ErrNotFound), err == nil && c.Mirror.Unsupported:
			orphan := coupon.Coupon{ID: ref.CouponID, Mirror: ref.Mirror}
			drifts = append(drifts, cat.repair(ctx, orphan, DriftOrphan, cat.removeMirror, dryRun))
		case errors.Is(err, store.ErrUnreadable): // reconcileCoupons reports it
		case err != nil:
			return drifts, fmt.Errorf("find coupon of mirror: %w", err)
		case !c.Mirrored(): // reconcileCoupons repairs it
		case !sameMirror(ref.Mirror, c.Mirror):
			if ref.Mirror.CouponID != c.Mirror.CouponID {
				c.Mirror = ref.Mirror // so that the processor finds this object besides the recorded one, and keeps one of them
			}
			drifts = append(drifts, cat.repair(ctx, c, DriftOutdated, cat.rewrite(cat.Mirrors.UpdateMirror), dryRun))
		}
	}
	return drifts, nil
}

// sameMirror reports whether a listed mirror is the recorded mirror. Coupon object and revision must be
// equal, and no other promotion code may be active.
func sameMirror(listed, stored coupon.Mirror) bool {
	return listed.CouponID == stored.CouponID && listed.Revision == stored.Revision &&
		(listed.PromotionCodeID == "" || listed.PromotionCodeID == stored.PromotionCodeID)
}
