package eligibility

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// exclude refuses the coupons that cannot be combined with a coupon that is not refused alone.
func (r *SetResult) exclude(set []Candidate, policy ConflictPolicy) {
	if !r.conflicting { // as usual
		return
	}
	var excluding, left [pricing.MaxCoupons]bool
	for at := range set {
		i := r.index(set[at].Coupon.ID)
		excluding[i] = r.Coupons[i].Decision.Allowed() && r.members[i].beyond == 0 && (policy != KeepFirst || !r.meets(i, &excluding))
	}
	for i := range r.members {
		if r.meets(i, &excluding) {
			r.refuseExcluded(i, &excluding)
		}
		left[i] = r.Coupons[i].Decision.Allowed()
	}
	for i := range r.members {
		if discount := r.members[i].beyond; discount > 0 && (!left[i] || r.meets(i, &left)) {
			r.refuseBudget(i, discount)
		}
	}
}

// refuseExcluded refuses a coupon that cannot be combined with the excluding coupons.
func (r *SetResult) refuseExcluded(i int, excluding *[pricing.MaxCoupons]bool) {
	by := make([]string, 0, len(r.members))
	for j := range r.members {
		if excluding[j] && r.conflict(i, j) {
			by = append(by, r.Coupons[j].Code.String())
		}
	}
	slices.Sort(by)
	r.Coupons[i].Decision.refuse(coupon.NotCombinable, excludedBy(by))
}

// meets reports whether a coupon cannot be combined with one of the others.
func (r *SetResult) meets(i int, others *[pricing.MaxCoupons]bool) bool {
	for j := range r.members {
		if others[j] && r.conflict(i, j) {
			return true
		}
	}
	return false
}

type excludedBy []string

func (r excludedBy) params() coupon.Params { return coupon.Params{ExcludedBy: r} }

// findConflicts marks the coupons that cannot be combined with another coupon of the set.
func (r *SetResult) findConflicts() {
	r.conflicting = false
	for i := range r.members {
		for j := range i {
			if r.conflict(i, j) {
				r.members[i].conflicts, r.members[j].conflicts, r.conflicting = true, true, true
			}
		}
	}
}

// conflict reports whether two coupons cannot be combined.
func (r *SetResult) conflict(i, j int) bool {
	return i != j && !pricing.Combinable(r.members[i].Coupon.Group, r.members[j].Coupon.Group)
}

// index returns the position of a coupon of the set.
func (r *SetResult) index(couponID string) int {
	i, _ := slices.BinarySearchFunc(r.Coupons, couponID, func(o Outcome, id string) int { return cmp.Compare(o.CouponID, id) })
	return i
}
