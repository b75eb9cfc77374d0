package couponkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// DriftKind tells how a coupon differs between the store and the processor.
type DriftKind string

// These constants are the kinds of [Drift]. The comment of each constant tells how
// [Service.Reconcile] repairs the difference. A mirror is the processor's own copy of a coupon.
const (
	// DriftPending means that the creation of a coupon was interrupted. Reconcile removes the coupon.
	DriftPending DriftKind = "pending"
	// DriftDeleting means that the deletion of a coupon was interrupted. Reconcile finishes the
	// deletion.
	DriftDeleting DriftKind = "deleting"
	// DriftOutdated means that the mirror and the coupon have different revisions, or that the
	// processor can no longer express the coupon. Reconcile updates the mirror.
	DriftOutdated DriftKind = "outdated"
	// DriftMissing means that the processor no longer has the mirror. Reconcile creates a new mirror.
	DriftMissing DriftKind = "missing"
	// DriftState means that an active coupon has an inactive mirror, or an inactive coupon has an
	// active mirror. Reconcile switches the mirror to the coupon's state.
	DriftState DriftKind = "state"
	// DriftOrphan means that the store has no coupon for a mirror, or only a coupon that needs no
	// mirror. Reconcile removes the mirror.
	DriftOrphan DriftKind = "orphan"
)

// Drift describes a coupon that differs between the store and the processor.
type Drift struct {
	// Kind tells how the coupon differs. Kind is empty if the processor did not answer, or if the
	// store cannot read the coupon.
	Kind     DriftKind
	CouponID string
	// Repaired tells whether Reconcile has repaired the difference.
	Repaired bool
	// Err tells why Reconcile could not repair the difference.
	Err error
}

// ReconcileOptions are the options of [Service.Reconcile].
type ReconcileOptions struct {
	// DryRun makes Reconcile report differences without repairing them.
	DryRun bool
}

// Reconcile compares every coupon with its mirror and repairs the differences. A mirror is the
// processor's own copy of a coupon. Reconcile finishes the work of interrupted calls, and undoes
// changes that somebody made at the processor. If the processor can list its mirrors, Reconcile
// also removes mirrors without a coupon.
//
// Reconcile returns the differences that it found. The error joins the errors of all coupons that
// Reconcile could not repair. A coupon that the store cannot read has a [*store.UnreadableError] in
// it, and keeps its mirror. The error also reports a failure to list the coupons or the mirrors.
// Several nodes may call Reconcile at once, even while administrators change coupons.
//
// On a store inside a transaction of the host, Reconcile returns [ErrInTransaction], unless DryRun
// is set.
//
// Reconcile asks the processor about every coupon, so call Reconcile less often if there are many
// thousands of coupons. Use the context to limit the duration of Reconcile. While the processor
// does not answer, Reconcile may wait for the adapter's timeout at every coupon.
func (s *Service) Reconcile(ctx context.Context, o ReconcileOptions) (drifts []Drift, err error) {
	defer s.observed(ctx, OpReconcile, &Attempt{}, &err)()
	if !o.DryRun {
		if err = s.changesOutside(); err != nil {
			return nil, err
		}
	}
	drifts, err = s.reconcileStored(ctx, o.DryRun)
	if err == nil {
		var listed []Drift
		listed, err = s.reconcileListed(ctx, o.DryRun)
		drifts = append(drifts, listed...)
	}
	failures := []error{err}
	for _, d := range drifts {
		failures = append(failures, d.Err)
	}
	return drifts, errors.Join(failures...)
}

// reconcileStored goes through the coupons that the store has.
func (s *Service) reconcileStored(ctx context.Context, dryRun bool) (drifts []Drift, err error) {
	for c, err := range s.Coupons(ctx, store.CouponList{PageSize: store.MaxPageSize}) {
		switch unreadable := (*store.UnreadableError)(nil); {
		case errors.As(err, &unreadable):
			drifts = append(drifts, Drift{CouponID: c.ID, Err: fmt.Errorf("reconcile coupon: %w", err)})
		case err != nil:
			return drifts, fmt.Errorf("list coupons: %w", err)
		default:
			if d, differs := s.reconcile(ctx, c, dryRun); differs {
				drifts = append(drifts, d)
			}
		}
	}
	return drifts, nil
}

// reconcile finds and repairs what is wrong with one coupon.
func (s *Service) reconcile(ctx context.Context, c coupon.Coupon, dryRun bool) (Drift, bool) {
	d, repair, err := s.drift(ctx, c)
	if err != nil {
		d.Err = fmt.Errorf("reconcile coupon %s: %w", c.ID, err)
		return d, true
	}
	if repair == nil {
		return d, false
	}
	return s.repairDrift(ctx, c, d, repair, dryRun), true
}

// repairDrift repairs a drift, unless nothing is to be changed.
func (s *Service) repairDrift(ctx context.Context, c coupon.Coupon, d Drift, repair repair, dryRun bool) Drift {
	if dryRun {
		return d
	}
	_, err := repair(ctx, c)
	if errors.Is(err, store.ErrStaleRevision) {
		// Somebody else has changed the coupon meanwhile, and perhaps mirrored it before the
		// older terms arrived.
		_, err = s.catchUp(ctx, c.ID)
	}
	switch {
	case err == nil, errors.Is(err, coupon.ErrNotFound): // whoever deletes it takes care of the mirror
		d.Repaired = true
	default:
		d.Err = fmt.Errorf("reconcile coupon %s: %w", d.CouponID, err)
	}
	return d
}

type repair func(context.Context, coupon.Coupon) (coupon.Coupon, error)

func (s *Service) drift(ctx context.Context, c coupon.Coupon) (Drift, repair, error) {
	d := Drift{CouponID: c.ID}
	switch {
	case c.State == coupon.Pending && s.now().Sub(c.UpdatedAt) < s.pendingTime:
		return d, nil, nil // its creation may still be under way
	case c.State == coupon.Pending:
		return s.unfinished(ctx, c)
	case c.State == coupon.Deleting:
		d.Kind = DriftDeleting
		return d, s.finishDelete, nil
	case !c.Mirrored():
		d.Kind = DriftOutdated
		return d, s.remirror, nil
	}
	status, err := s.processor.VerifyMirror(ctx, c)
	switch {
	case err != nil:
		return d, nil, err
	case status == processor.MirrorUnsupported && c.Mirror.Unsupported:
		return d, nil, nil
	case status == processor.MirrorUnsupported:
		d.Kind = DriftOutdated
		return d, s.remirror, nil
	case status == processor.MirrorMissing:
		d.Kind = DriftMissing
		return d, s.remirror, nil
	case status == processor.MirrorValid && c.Code.IsZero():
		return d, nil, nil // the mirror has no state
	case status == processor.MirrorInvalid && s.abilities.MirrorsExpiry && expired(c, s.now()):
		return d, nil, nil
	case (status == processor.MirrorValid) != c.Active():
		d.Kind = DriftState
		return d, func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
			return s.mirror(ctx, c, s.processor.SetMirrorActive)
		}, nil
	}
	return d, nil, nil
}

// unfinished looks again at a creation that takes long. It was perhaps finished since the
// coupons were listed, which leaves the revision as it is, so that removing what was
// listed would remove a coupon that is in use.
func (s *Service) unfinished(ctx context.Context, listed coupon.Coupon) (Drift, repair, error) {
	d := Drift{Kind: DriftPending, CouponID: listed.ID}
	c, err := s.stored(ctx, listed.ID)
	switch {
	case errors.Is(err, coupon.ErrNotFound) || err == nil && c.State != coupon.Pending:
		return d, nil, nil
	case err != nil:
		return d, nil, err
	}
	return d, s.remove, nil
}

// remirror brings everything of the mirror to the coupon: name, terms and state, as
// every method of [processor.Mirror] promises.
func (s *Service) remirror(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	return s.mirror(ctx, c, s.processor.UpdateMirror)
}

// reconcileListed goes the other way round: through the mirrors that the processor
// has. A coupon is stored before its mirror is made, so that a mirror without one has
// been left behind; and one that is not what the store believes was changed by a call
// that arrived after a newer one.
func (s *Service) reconcileListed(ctx context.Context, dryRun bool) ([]Drift, error) {
	lister, can := s.processor.(processor.MirrorLister)
	if !can {
		return nil, nil
	}
	var drifts []Drift
	for ref, err := range lister.Mirrors(ctx) {
		if err != nil {
			return drifts, fmt.Errorf("list mirrors: %w", err)
		}
		c, err := s.stored(ctx, ref.CouponID)
		var d Drift
		switch {
		case errors.Is(err, coupon.ErrNotFound), err == nil && c.Mirror.Unsupported:
			d = s.removeOrphan(ctx, ref, dryRun)
		case errors.Is(err, store.ErrUnreadable):
			continue // what goes through the coupons reports it
		case err != nil:
			return drifts, fmt.Errorf("find coupon of mirror: %w", err)
		case shows(ref.Mirror, c.Mirror) || !c.Mirrored():
			continue // as it should be, or what goes through the coupons takes care of
		default:
			d = s.repairDrift(ctx, c, Drift{Kind: DriftOutdated, CouponID: c.ID}, s.remirror, dryRun)
		}
		drifts = append(drifts, d)
	}
	return drifts, nil
}

// shows reports whether a listed mirror is the one that the store believes in: the
// same coupon of the same revision, and no other active promotion code.
func shows(listed, stored coupon.Mirror) bool {
	return listed.CouponID == stored.CouponID && listed.Revision == stored.Revision &&
		(listed.PromotionCodeID == "" || listed.PromotionCodeID == stored.PromotionCodeID)
}

func (s *Service) removeOrphan(ctx context.Context, ref processor.MirrorRef, dryRun bool) Drift {
	orphan := coupon.Coupon{ID: ref.CouponID, Mirror: ref.Mirror}
	return s.repairDrift(ctx, orphan, Drift{Kind: DriftOrphan, CouponID: ref.CouponID},
		func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
			return c, s.processor.RemoveMirror(ctx, c)
		}, dryRun)
}
