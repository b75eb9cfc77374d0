package eligibility

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// exclude applies a conflict policy other than KeepBest. It refuses coupons that cannot be combined with a coupon that is
// usable alone.
func (e *evaluation) exclude(policy ConflictPolicy) {
	if !e.conflicting { // most sets have no conflict
		return
	}
	var excluding [pricing.MaxCoupons]bool
	for at := range e.set {
		i := e.index(e.set[at].Coupon.ID)
		excluding[i] = e.Coupons[i].Decision.Allowed() && e.members[i].beyond == 0 && (policy != KeepFirst || !e.meets(i, &excluding))
	}
	e.excludeBy(&excluding)
}

// excludeBy refuses the coupons that cannot be combined with the excluding coupons.
func (e *evaluation) excludeBy(excluding *[pricing.MaxCoupons]bool) {
	var left [pricing.MaxCoupons]bool
	for i := range e.members {
		if e.meets(i, excluding) {
			e.refuseExcluded(i, excluding)
		}
		left[i] = e.Coupons[i].Decision.Allowed()
	}
	for i := range e.members {
		if discount := e.members[i].beyond; discount > 0 && (!left[i] || e.meets(i, &left)) {
			e.refuseBudget(i, discount)
		}
	}
}

// refuseExcluded refuses a coupon that cannot be combined with the excluding coupons.
func (e *evaluation) refuseExcluded(i int, excluding *[pricing.MaxCoupons]bool) {
	by := make([]string, 0, len(e.members))
	for j := range e.members {
		if excluding[j] && e.conflict(i, j) {
			by = append(by, cmp.Or(e.Coupons[j].Code.String(), e.Coupons[j].CouponID))
		}
	}
	slices.Sort(by)
	e.Coupons[i].Decision.refuse(coupon.NotCombinable, excludedBy(by))
}

// meets reports whether a coupon conflicts with any of the others.
func (e *evaluation) meets(i int, others *[pricing.MaxCoupons]bool) bool {
	for j := range e.members {
		if others[j] && e.conflict(i, j) {
			return true
		}
	}
	return false
}

type excludedBy []string

func (r excludedBy) params() coupon.Params { return coupon.Params{ExcludedBy: r} }

// findConflicts marks the coupons that cannot be combined with another coupon of the set.
func (e *evaluation) findConflicts() {
	e.conflicting = false
	for i := range e.members {
		for j := range i {
			if e.conflict(i, j) {
				e.members[i].conflicts, e.members[j].conflicts, e.conflicting = true, true, true
			}
		}
	}
}

// conflict reports whether two coupons cannot be combined.
func (e *evaluation) conflict(i, j int) bool {
	return i != j && !pricing.Combinable(e.coupon(i).Group, e.coupon(j).Group)
}

// index returns the position of a coupon of the set.
func (e *evaluation) index(couponID string) int {
	i, _ := slices.BinarySearchFunc(e.Coupons, couponID, func(o Outcome, id string) int { return cmp.Compare(o.CouponID, id) })
	return i
}
