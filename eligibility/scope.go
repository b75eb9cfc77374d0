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
	return AppendLines(make([]bool, 0, len(lines)), s, lines)
}

// AppendLines is like [Lines] but appends the result to a slice and returns the extended slice.
func AppendLines(dst []bool, s coupon.Scope, lines []pricing.Line) []bool {
	for i := range lines {
		dst = append(dst, s.Covers(&lines[i]))
	}
	return dst
}
