package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Lines reports for each cart line whether the coupon's scope covers the line. The result can be
// passed to [pricing.Price].
func Lines(s coupon.Scope, lines []pricing.Line) []bool {
	covered := make([]bool, len(lines))
	for i := range lines {
		covered[i] = s.Covers(&lines[i])
	}
	return covered
}
