package couponkit

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/internal/settle"
)

// DriftKind tells how a coupon differs between the store and the processor.
type DriftKind string

// These constants are the kinds of [Drift]. The comment of each constant tells how
// [Service.Reconcile] repairs the difference. A mirror is the processor's own copy of a coupon.
const (
	// DriftPending means that the creation of a coupon was interrupted at least [PendingTime] ago.
	// Reconcile removes the coupon.
	DriftPending DriftKind = catalog.DriftPending
	// DriftDeleting means that the deletion of a coupon was interrupted. Reconcile finishes the
	// deletion.
	DriftDeleting DriftKind = catalog.DriftDeleting
	// DriftOutdated means that the mirror and the coupon have different revisions, or that the
	// processor can no longer express the coupon. Reconcile updates the mirror.
	DriftOutdated DriftKind = catalog.DriftOutdated
	// DriftMissing means that the processor no longer has the mirror. Reconcile creates a new mirror.
	DriftMissing DriftKind = catalog.DriftMissing
	// DriftState means that an active coupon has an inactive mirror, or an inactive coupon has an
	// active mirror. Reconcile switches the mirror to the coupon's state.
	DriftState DriftKind = catalog.DriftState
	// DriftOrphan means that the store has no coupon for a mirror, or only a coupon that needs no
	// mirror. Reconcile removes the mirror.
	DriftOrphan DriftKind = catalog.DriftOrphan
)

// PendingTime is the age at which [Service.Reconcile] removes a coupon whose creation is unfinished.
const PendingTime = catalog.PendingTime

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
	defer s.observed(ctx, OpReconcile, &settle.Attempt{}, &err)()
	if !o.DryRun {
		if err = s.changesOutside(); err != nil {
			return nil, err
		}
	}
	found, err := s.catalog().Reconcile(ctx, o.DryRun)
	failures := []error{err}
	for _, d := range found {
		drifts = append(drifts, Drift{Kind: DriftKind(d.Kind), CouponID: d.CouponID, Repaired: d.Repaired, Err: d.Err})
		failures = append(failures, d.Err)
	}
	return drifts, errors.Join(failures...)
}
