package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Covers reports whether the coupon's scope covers the cart line (specification 2.2, contract
// section 3). No scope covers a shipping line.
//
// A [coupon.Specific] scope covers only the selected items. A [coupon.Subscription] scope without
// selected plans covers all plans. A [coupon.Product] scope without selected devices covers all
// devices. A [coupon.Product] scope without selected accessories covers all accessories.
func Covers(s coupon.Scope, l pricing.Line) bool { return covers(&s, &l) }

// covers is Covers for a loop, without copies.
func covers(s *coupon.Scope, l *pricing.Line) bool {
	switch s.AppliesTo {
	case coupon.All:
		return l.Kind >= pricing.Plan && l.Kind < pricing.Shipping
	case coupon.Subscription:
		return l.Kind == pricing.Plan && narrowed(s.Plans, l.ItemID)
	case coupon.Product:
		return l.Kind == pricing.Device && narrowed(s.Devices, l.ItemID) ||
			l.Kind == pricing.Accessory && narrowed(s.Accessories, l.ItemID)
	case coupon.Specific:
		return l.Kind == pricing.Plan && s.Plans.Has(l.ItemID) ||
			l.Kind == pricing.Device && s.Devices.Has(l.ItemID) ||
			l.Kind == pricing.Accessory && s.Accessories.Has(l.ItemID)
	}
	return false
}

// narrowed reads an empty selection as "all of this kind".
func narrowed(selected coupon.Items, id string) bool {
	return selected.Len() == 0 || selected.Has(id)
}

// Lines reports for each cart line whether the coupon's scope covers the line. The result can be
// passed to [pricing.Price].
func Lines(s coupon.Scope, lines []pricing.Line) []bool {
	return AppendLines(make([]bool, 0, len(lines)), s, lines)
}

// AppendLines is like [Lines] but appends the result to a slice and returns the extended slice.
func AppendLines(dst []bool, s coupon.Scope, lines []pricing.Line) []bool {
	for i := range lines {
		dst = append(dst, covers(&s, &lines[i]))
	}
	return dst
}
