package eligibility

import "github.com/couponkit/couponkit/coupon"

// Without returns the decision as if the code did not apply, for a caller that is
// about to remove that reason: exchanging points asks everything of a coupon but
// that points were exchanged.
func (d Decision) Without(code coupon.RejectionCode) Decision {
	d.reasons &^= 1 << code
	return d
}
