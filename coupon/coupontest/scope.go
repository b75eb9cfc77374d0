package coupontest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// Scope draws a valid scope: each of the four, with and without selections where it takes them, and at times with
// kinds, categories and exclusions. Categories are those of package pricingtest.
func Scope() *rapid.Generator[coupon.Scope] {
	return rapid.Custom(func(t *rapid.T) coupon.Scope {
		s := plainScope().Draw(t, "scope")
		if rapid.IntRange(0, 2).Draw(t, "restricted") > 0 {
			return s
		}
		some := func(what string) bool { return rapid.Bool().Draw(t, what) }
		if some("kinds") {
			kinds := map[coupon.AppliesTo][]string{
				coupon.All: {"plan", "device", "accessory", "book"}, coupon.Specific: {"plan", "device", "accessory"},
				coupon.Subscription: {"plan"}, coupon.Product: {"device", "accessory", "book"},
			}[s.AppliesTo]
			s.Kinds = coupon.NewItems(rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 3).Draw(t, "kinds")...)
		}
		if some("categories") {
			s.Categories = coupon.NewItems(rapid.SliceOfN(pricingtest.Category(), 1, 3).Draw(t, "categories")...)
		}
		if some("excluded items") {
			s.ExcludedItems = itemIDs(t, rapid.SampledFrom([]pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory}).Draw(t, "kind"), 1)
		}
		if some("excluded categories") {
			excluded := rapid.SliceOfN(pricingtest.Category(), 1, 3).Draw(t, "excluded categories")
			s.ExcludedCategories = coupon.NewItems(slices.DeleteFunc(excluded, s.Categories.Has)...)
		}
		if _, covers := s.Example(); !covers {
			s.Kinds, s.ExcludedItems = coupon.Items{}, coupon.Items{}
		}
		return s
	})
}

// plainScope draws a scope without kinds, categories and exclusions.
func plainScope() *rapid.Generator[coupon.Scope] {
	return rapid.Custom(func(t *rapid.T) coupon.Scope {
		s := coupon.Scope{AppliesTo: rapid.SampledFrom([]coupon.AppliesTo{
			coupon.All, coupon.Subscription, coupon.Product, coupon.Specific,
		}).Draw(t, "applies to")}
		switch s.AppliesTo {
		case coupon.Subscription:
			s.Plans = itemIDs(t, pricing.Plan, 0)
		case coupon.Product:
			s.Devices, s.Accessories = itemIDs(t, pricing.Device, 0), itemIDs(t, pricing.Accessory, 0)
		case coupon.Specific:
			s.Plans, s.Devices = itemIDs(t, pricing.Plan, 0), itemIDs(t, pricing.Device, 0)
			least := 0
			if s.Plans.Len()+s.Devices.Len() == 0 {
				least = 1
			}
			s.Accessories = itemIDs(t, pricing.Accessory, least)
		case coupon.All:
		}
		return s
	})
}

// Covering draws a valid scope that covers at least one line of the cart. The cart needs a line that is not shipping,
// of an item with an ID; without one the test fails.
func Covering(cart pricing.Cart) *rapid.Generator[coupon.Scope] {
	return rapid.Custom(func(t *rapid.T) coupon.Scope {
		if len(goods(cart)) == 0 {
			t.Fatalf("no scope covers a cart without goods: %+v", cart)
		}
		line := rapid.SampledFrom(goods(cart)).Draw(t, "covered")
		broad := coupon.Product
		if line.Kind == pricing.Plan {
			broad = coupon.Subscription
		}
		s := coupon.Scope{AppliesTo: rapid.SampledFrom([]coupon.AppliesTo{coupon.All, broad, coupon.Specific}).Draw(t, "applies to")}
		if s.AppliesTo == coupon.All || s.AppliesTo == broad && rapid.Bool().Draw(t, "all of the kind") {
			return s
		}
		*selected(&s, line.Kind) = coupon.NewItems(append(itemIDs(t, line.Kind, 0).Slice(), line.ItemID)...)
		return s
	})
}

// goods returns the lines whose items a selection can name.
func goods(cart pricing.Cart) []pricing.Line {
	return slices.DeleteFunc(slices.Clone(cart.Lines), func(l pricing.Line) bool {
		return l.Kind == pricing.Shipping || l.ItemID == ""
	})
}

// NotCovering draws a valid scope that covers no line of the cart.
func NotCovering(cart pricing.Cart) *rapid.Generator[coupon.Scope] {
	return rapid.Custom(func(t *rapid.T) coupon.Scope {
		s := coupon.Scope{AppliesTo: rapid.SampledFrom([]coupon.AppliesTo{
			coupon.Subscription, coupon.Product, coupon.Specific,
		}).Draw(t, "applies to")}
		kinds := []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory}
		switch s.AppliesTo {
		case coupon.Subscription:
			kinds = kinds[:1]
		case coupon.Product:
			kinds = kinds[1:]
		case coupon.Specific, coupon.All:
		}
		for _, kind := range kinds {
			// An empty selection would cover the whole kind.
			if s.AppliesTo == coupon.Specific || hasKind(cart, kind) || rapid.Bool().Draw(t, "narrowed") {
				*selected(&s, kind) = coupon.NewItems(absent(t, cart, kind)...)
			}
		}
		return s
	})
}

func hasKind(cart pricing.Cart, kind pricing.LineKind) bool {
	return slices.ContainsFunc(cart.Lines, func(l pricing.Line) bool { return l.Kind == kind })
}

func selected(s *coupon.Scope, kind pricing.LineKind) *coupon.Items {
	switch kind {
	case pricing.Plan:
		return &s.Plans
	case pricing.Device:
		return &s.Devices
	case pricing.Accessory, pricing.Shipping:
	}
	return &s.Accessories
}

// absent draws IDs that no line of this kind has. Some are IDs of lines of another kind: a selection of
// devices does not cover an accessory with the same ID.
func absent(t *rapid.T, cart pricing.Cart, kind pricing.LineKind) []string {
	taken := make(map[string]bool, len(cart.Lines))
	ids := []string{"absent"}
	for _, l := range cart.Lines {
		if l.Kind == kind {
			taken[l.ItemID] = true
		} else if l.ItemID != "" {
			ids = append(ids, l.ItemID)
		}
	}
	for n := 1; taken[ids[0]]; n++ {
		ids[0] = fmt.Sprintf("absent-%d", n)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return taken[id] })
	return rapid.SliceOfN(rapid.SampledFrom(ids), 1, 3).Draw(t, "absent IDs")
}

// setScope sets the scope of the draft.
func setScope(d *coupon.Draft, s coupon.Scope) {
	of := s.Draft()
	d.AppliesTo, d.PlanIDs, d.DeviceIDs, d.AccessoryIDs = s.AppliesTo, of.PlanIDs, of.DeviceIDs, of.AccessoryIDs
	d.Kinds, d.Categories = of.Kinds, of.Categories
	d.ExcludedItemIDs, d.ExcludedCategories = of.ExcludedItemIDs, of.ExcludedCategories
}
