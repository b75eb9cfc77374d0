package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Covers reports whether the coupon's scope covers the cart line (specification 2.2, contract
// section 3). No scope covers a shipping line.
//
// A [coupon.Specific] scope covers only the selected items. Selected plans restrict plans, selected
// devices restrict devices, and selected accessories restrict accessories. Lines of other kinds
// are restricted by kinds and categories.
func Covers(s coupon.Scope, l pricing.Line) bool { return s.Covers(&l) }

// Lines reports for each cart line whether the coupon's scope covers the line. The result can be
// passed to [pricing.Price].
func Lines(s coupon.Scope, lines []pricing.Line) []bool {
	covered := make([]bool, len(lines))
	for i := range lines {
		covered[i] = s.Covers(&lines[i])
	}
	return covered
}
