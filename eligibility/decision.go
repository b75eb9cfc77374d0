package eligibility

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/coupon"
)

// Decision tells whether a customer may use a coupon. The Decision on a refused coupon contains the
// reasons for the refusal. The zero Decision allows the coupon. A Decision is safe for concurrent
// use.
type Decision struct {
	couponID string
	codes    uint64 // bit n is set if a reason has rejection code n
	reasons  []reason
}

// reason is a reason of a decision. Its parameters are built on demand.
type reason struct {
	code   coupon.RejectionCode
	params params // nil if there are no parameters
}

// params has the values from which the parameters of a reason are built.
type params interface{ params() coupon.Params }

func compare(a, b reason) int { return cmp.Compare(a.code.Rank(), b.code.Rank()) }

// Allowed reports whether the customer may use the coupon.
func (d Decision) Allowed() bool { return d.codes == 0 }

// Has reports whether the decision has a reason with the given code.
func (d Decision) Has(code coupon.RejectionCode) bool { return d.codes&(1<<code) != 0 }

// Headline returns the code of the first reason. If the coupon is allowed, Headline returns 0.
func (d Decision) Headline() coupon.RejectionCode {
	if d.Allowed() {
		return 0
	}
	return slices.MinFunc(d.reasons, compare).code
}

// Reasons returns all reasons of the decision with their parameters, sorted by
// [coupon.RejectionCode.Rank]. The decision has one reason for each period limit that is reached, and one for each of
// Contains and Buys of which units are missing.
// If the coupon is allowed, Reasons returns nil.
func (d Decision) Reasons() []coupon.Reason {
	if d.Allowed() {
		return nil
	}
	sorted := slices.Clone(d.reasons)
	slices.SortStableFunc(sorted, compare)
	reasons := make([]coupon.Reason, len(sorted))
	for i, r := range sorted {
		reasons[i].Code = r.code
		if r.params != nil {
			reasons[i].Params = r.params.params()
		}
	}
	return reasons
}

// Equal reports whether d and e have the same reasons with the same parameters. Package go-cmp uses
// Equal to compare values.
func (d Decision) Equal(e Decision) bool {
	return slices.EqualFunc(d.Reasons(), e.Reasons(), coupon.Reason.Equal)
}

// Without returns the decision with the reasons of the given code removed.
func (d Decision) Without(code coupon.RejectionCode) Decision {
	if d.Has(code) {
		d.codes &^= 1 << code
		d.reasons = slices.DeleteFunc(slices.Clone(d.reasons), func(r reason) bool { return r.code == code })
	}
	return d
}

// Err returns nil if the coupon is allowed. If the coupon is refused, Err returns a
// [*coupon.Rejection] with all reasons.
func (d Decision) Err() error {
	if d.Allowed() {
		return nil
	}
	return &coupon.Rejection{CouponID: d.couponID, Reasons: d.Reasons()}
}

// refuse adds a reason. A second reason with the same code replaces the first. Reasons of period limits
// and of missing items are all kept.
func (d *Decision) refuse(code coupon.RejectionCode, params params) {
	if d.Has(code) && code != coupon.PeriodLimitReached && code != coupon.RequiredItemsMissing {
		*d = d.Without(code)
	}
	d.codes |= 1 << code
	d.reasons = append(d.reasons, reason{code, params})
}
