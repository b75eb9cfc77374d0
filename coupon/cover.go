package coupon

import (
	"slices"
	"strconv"

	"github.com/couponkit/couponkit/pricing"
)

// Covers reports whether the scope covers the cart line (specification 2.2, contract section 3). No scope covers a
// shipping line. Covers allocates no memory.
//
// A [Specific] scope covers only the selected items. Selected plans restrict plans, selected devices restrict devices,
// and selected accessories restrict accessories. Lines of other kinds are restricted by kinds and categories.
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

// selection returns the items of a kind that the scope selects. It returns nil for kinds without a
// selection.
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

// narrowed reports whether the selection of the line's kind has the line. An empty selection has all
// lines.
func (s *Scope) narrowed(l *pricing.Line) bool {
	selected := s.selection(l.Kind)
	return selected == nil || selected.Len() == 0 || selected.Has(l.ItemID)
}

// Example returns a line that the scope covers, and that none of the other scopes covers; see [Example].
func (s Scope) Example(outside ...Scope) (line pricing.Line, found bool) {
	return Example([]Scope{s}, outside...)
}

// Example returns a line that each of some scopes covers, and that none of the other scopes covers. The line has no ID,
// quantity and price. If there is no such line, found is false. The time doubles with every other scope.
func Example(inside []Scope, outside ...Scope) (line pricing.Line, found bool) {
	outside = slices.DeleteFunc(slices.Clone(outside), Scope.IsZero)
	lines := candidates(inside, outside)
	covers := func(s Scope) bool { return s.Covers(&line) }
	misses := func(s Scope) bool { return !s.Covers(&line) }
	for _, categories := range categoriesOutside(inside, outside) {
		for _, line = range lines {
			line.Categories = categories
			if !slices.ContainsFunc(inside, misses) && !slices.ContainsFunc(outside, covers) {
				return line, true
			}
		}
	}
	return pricing.Line{}, false
}

// candidates returns sample lines without categories. They are enough to test kinds and items. If some
// line is covered by all scopes inside and by no scope outside, then one of the samples is such a line.
func candidates(inside, outside []Scope) (lines []pricing.Line) {
	free, named := itemsOutside(inside, outside), []Items(nil)
	for _, o := range outside {
		named = append(named, o.Kinds)
	}
	for _, s := range inside {
		kinds := s.Kinds.Slice()
		if len(kinds) == 0 {
			kinds = []string{"device", "accessory", "plan", unlisted("other", named)}
		}
		for _, name := range kinds {
			kind := pricing.LineKind(name)
			items := free
			if selected := s.selection(kind); selected != nil && selected.Len() > 0 {
				items = selected.entries()
			}
			for _, item := range items {
				lines = append(lines, pricing.Line{Kind: kind, ItemID: item})
				if kind.Class() == pricing.ProductClass && kind != pricing.Device && kind != pricing.Accessory {
					lines = append(lines, pricing.Line{Kind: kind, ItemID: item, Class: pricing.SubscriptionClass})
				}
			}
		}
	}
	return lines
}

// itemsOutside returns sample items that no scope inside excludes. One of them is named by no scope.
// The others are excluded by scopes outside: one item for each set of lists that name it.
func itemsOutside(inside, outside []Scope) []string {
	var avoided []Items
	for _, s := range inside {
		avoided = append(avoided, s.ExcludedItems)
	}
	excluded := func(item string) bool {
		return slices.ContainsFunc(inside, func(s Scope) bool { return s.ExcludedItems.Has(item) })
	}
	for _, o := range outside {
		avoided = append(avoided, o.Plans, o.Devices, o.Accessories)
	}
	items, seen := []string{unlisted("item", avoided)}, map[string]bool{}
	for _, o := range outside {
		for item := range o.ExcludedItems.All() {
			var lists []byte
			for _, o := range outside {
				for _, list := range [...]Items{o.Plans, o.Devices, o.Accessories, o.ExcludedItems} {
					lists = strconv.AppendBool(lists, list.Has(item))
				}
			}
			if !seen[string(lists)] && !excluded(item) {
				seen[string(lists)] = true
				items = append(items, item)
			}
		}
	}
	return items
}

// categoriesOutside returns sample sets of categories that the scopes inside cover. If any set keeps a
// line out of all scopes outside, one of the samples does. A scope outside does not cover a line in two
// cases: it covers no category of the line, or it excludes one. The samples have every combination of
// these cases.
func categoriesOutside(inside, outside []Scope) (sets []pricing.Categories) {
	for avoided := range 1 << len(outside) {
		taken := func(name string) bool {
			for i, o := range outside {
				if avoided&(1<<i) != 0 && o.Categories.Has(name) {
					return true
				}
			}
			return slices.ContainsFunc(inside, func(s Scope) bool { return s.ExcludedCategories.Has(name) })
		}
		var names []string
		for _, s := range inside {
			names = append(names, firstOutside(s.Categories, taken)...)
		}
		for i, o := range outside {
			if avoided&(1<<i) == 0 {
				names = append(names, firstOutside(o.ExcludedCategories, taken)...)
			}
		}
		if set, err := pricing.NewCategories(names...); err == nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// firstOutside returns the first entry of a set for which taken is false.
func firstOutside(set Items, taken func(string) bool) []string {
	for entry := range set.All() {
		if !taken(entry) {
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
