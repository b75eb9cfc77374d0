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
func Covers(s coupon.Scope, l pricing.Line) bool { return covers(&s, &l) }

// covers is Covers for a loop, without copies.
func covers(s *coupon.Scope, l *pricing.Line) bool {
	return applies(s, l) && (s.Kinds.Len() == 0 || s.Kinds.Has(l.Kind.String())) &&
		(s.Categories.Len() == 0 || l.Categories.Any(s.Categories.Has)) &&
		(s.ExcludedItems.Len() == 0 || !s.ExcludedItems.Has(l.ItemID)) &&
		(s.ExcludedCategories.Len() == 0 || !l.Categories.Any(s.ExcludedCategories.Has))
}

// applies reports whether the kind of scope and its selections cover the line.
func applies(s *coupon.Scope, l *pricing.Line) bool {
	switch s.AppliesTo {
	case coupon.All:
		return l.Kind != "" && l.ClassOf() != pricing.ShippingClass
	case coupon.Subscription:
		return l.ClassOf() == pricing.SubscriptionClass && narrowed(s, l)
	case coupon.Product:
		return l.Kind != "" && narrowed(s, l) && l.ClassOf() == pricing.ProductClass
	case coupon.Specific:
		selected := selection(s, l.Kind)
		return selected != nil && selected.Has(l.ItemID)
	}
	return false
}

// selection returns the items of a kind that the scope selects. No other kind has a selection.
func selection(s *coupon.Scope, kind pricing.LineKind) *coupon.Items {
	switch kind { //nolint:exhaustive // no other kind has a selection
	case pricing.Plan:
		return &s.Plans
	case pricing.Device:
		return &s.Devices
	case pricing.Accessory:
		return &s.Accessories
	}
	return nil
}

// narrowed reads an empty selection as "all of this kind".
func narrowed(s *coupon.Scope, l *pricing.Line) bool {
	selected := selection(s, l.Kind)
	return selected == nil || selected.Len() == 0 || selected.Has(l.ItemID)
}

// Lines reports for each cart line whether the coupon's scope covers the line. The result can be
// passed to [pricing.Price].
func Lines(s coupon.Scope, lines []pricing.Line) []bool {
	return AppendLines(make([]bool, 0, len(lines)), s, lines)
}

// AppendLines is like [Lines] but appends the result to a slice and returns the extended slice.
func AppendLines(dst []bool, s coupon.Scope, lines []pricing.Line) []bool {
	return appendLines(dst, &s, lines)
}

func appendLines(dst []bool, s *coupon.Scope, lines []pricing.Line) []bool {
	for i := range lines {
		dst = append(dst, covers(s, &lines[i]))
	}
	return dst
}
