package coupon

import (
	"slices"
	"strconv"

	"github.com/couponkit/couponkit/pricing"
)

// Covers reports whether the scope covers the cart line (specification 2.2, contract section 3). No
// scope covers a shipping line. Covers allocates no memory.
func (s *Scope) Covers(l *pricing.Line) bool {
	return s.applies(l) && (s.Kinds.Len() == 0 || s.Kinds.Has(l.Kind.String())) &&
		(s.Categories.Len() == 0 || l.Categories.Any(s.Categories.Has)) &&
		(s.ExcludedItems.Len() == 0 || !s.ExcludedItems.Has(l.ItemID)) &&
		(s.ExcludedCategories.Len() == 0 || !l.Categories.Any(s.ExcludedCategories.Has))
}

// applies reports whether the kind of scope and its selections cover the line.
func (s *Scope) applies(l *pricing.Line) bool {
	switch s.AppliesTo {
	case All:
		return l.Kind != "" && l.ClassOf() != pricing.ShippingClass
	case Subscription:
		return l.ClassOf() == pricing.SubscriptionClass && s.narrowed(l)
	case Product:
		return l.Kind != "" && s.narrowed(l) && l.ClassOf() == pricing.ProductClass
	case Specific:
		selected := s.selection(l.Kind)
		return selected != nil && selected.Has(l.ItemID)
	}
	return false
}

// selection returns the items of a kind that the scope selects. No other kind has a selection.
func (s *Scope) selection(kind pricing.LineKind) *Items {
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
func (s *Scope) narrowed(l *pricing.Line) bool {
	selected := s.selection(l.Kind)
	return selected == nil || selected.Len() == 0 || selected.Has(l.ItemID)
}

// Example returns a line that the scope covers, and that none of the other scopes covers. The line
// has no ID, quantity and price. If there is no such line, found is false. With more than one other
// scope, Example may miss a line that needs several categories.
func (s Scope) Example(outside ...Scope) (line pricing.Line, found bool) {
	lines := s.candidates(outside)
	for _, line.Categories = range s.categoriesOutside(outside) {
		for _, l := range lines {
			line.Kind, line.Class, line.ItemID = l.Kind, l.Class, l.ItemID
			covered := func(other Scope) bool { return other.Covers(&line) }
			if s.Covers(&line) && !slices.ContainsFunc(outside, covered) {
				return line, true
			}
		}
	}
	return pricing.Line{}, false
}

// candidates returns lines without categories. If any line is covered by the scope and by no other
// scope, one of them is, as far as kinds and items matter.
func (s *Scope) candidates(outside []Scope) (lines []pricing.Line) {
	free, kinds := []string{""}, s.Kinds.Slice()
	avoided, named := []Items{s.ExcludedItems}, []Items(nil)
	for _, o := range outside {
		avoided, named = append(avoided, o.Plans, o.Devices, o.Accessories), append(named, o.Kinds)
		free = append(free, firstOutside(o.ExcludedItems, s.ExcludedItems)...)
	}
	free[0] = unlisted("item", avoided)
	if len(kinds) == 0 {
		kinds = []string{"device", "accessory", "plan", unlisted("other", named)}
	}
	for _, name := range kinds {
		kind := pricing.LineKind(name)
		items := free
		if selected := s.selection(kind); selected != nil && selected.Len() > 0 {
			items = selected.set.list
		}
		for _, item := range items {
			lines = append(lines, pricing.Line{Kind: kind, ItemID: item})
			if kind.Class() == pricing.ProductClass && kind != pricing.Device && kind != pricing.Accessory {
				lines = append(lines, pricing.Line{Kind: kind, ItemID: item, Class: pricing.SubscriptionClass})
			}
		}
	}
	return lines
}

// categoriesOutside returns sets of categories that the scope covers. If any set keeps a line out of
// another scope, one of them does.
func (s *Scope) categoriesOutside(outside []Scope) (sets []pricing.Categories) {
	choices, extra := firstOutside(s.Categories, s.ExcludedCategories), []string(nil)
	for _, o := range outside {
		taken := newStringSet(slices.Concat(s.ExcludedCategories.set.list, o.Categories.set.list))
		choices = append(choices, firstOutside(s.Categories, Items{taken})...)
		extra = append(extra, firstOutside(o.ExcludedCategories, s.ExcludedCategories)...)
	}
	if s.Categories.Len() == 0 {
		choices = []string{""}
	}
	for _, choice := range choices {
		for _, names := range [...][]string{{choice}, append([]string{choice}, extra...)} {
			set, err := pricing.NewCategories(slices.DeleteFunc(names, func(name string) bool { return name == "" })...)
			if err == nil {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// firstOutside returns the first entry of a set that is not in another set.
func firstOutside(set, other Items) []string {
	for entry := range set.All() {
		if !other.Has(entry) {
			return []string{entry}
		}
	}
	return nil
}

// unlisted returns a name that is in none of the sets.
func unlisted(base string, sets []Items) string {
	name := base
	for n := 1; slices.ContainsFunc(sets, func(set Items) bool { return set.Has(name) }); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}
