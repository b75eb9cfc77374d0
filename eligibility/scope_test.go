package eligibility_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// Specification 2.2 and contract section 3, row by row. Every item is called "x"
// or "y", whatever its kind, so that a list read for the wrong kind shows.
func TestWhatAScopeCovers(t *testing.T) {
	t.Parallel()
	x := coupon.NewItems("x")
	for _, test := range []struct {
		about string
		scope coupon.Scope
		want  string // plans x and y, device x and y ..., shipping
	}{
		{"no scope", coupon.Scope{}, "-------"},
		{"ALL", coupon.Scope{AppliesTo: coupon.All}, "pPdDaA-"},
		{"ALL takes no selection", coupon.Scope{AppliesTo: coupon.All, Plans: x, Devices: x, Accessories: x}, "pPdDaA-"},
		{"SUBSCRIPTION, empty list", coupon.Scope{AppliesTo: coupon.Subscription}, "pP-----"},
		{"SUBSCRIPTION narrowed", coupon.Scope{AppliesTo: coupon.Subscription, Plans: x}, "p------"},
		{"SUBSCRIPTION does not read other lists", coupon.Scope{AppliesTo: coupon.Subscription, Devices: x, Accessories: x}, "pP-----"},
		{"PRODUCT, empty lists", coupon.Scope{AppliesTo: coupon.Product}, "--dDaA-"},
		{"PRODUCT, devices narrow devices", coupon.Scope{AppliesTo: coupon.Product, Devices: x}, "--d-aA-"},
		{"PRODUCT, accessories narrow accessories", coupon.Scope{AppliesTo: coupon.Product, Accessories: x}, "--dDa--"},
		{"PRODUCT, both", coupon.Scope{AppliesTo: coupon.Product, Devices: x, Accessories: coupon.NewItems("y")}, "--d--A-"},
		{"PRODUCT does not read plans", coupon.Scope{AppliesTo: coupon.Product, Plans: x}, "--dDaA-"},
		{"SPECIFIC, nothing selected", coupon.Scope{AppliesTo: coupon.Specific}, "-------"},
		{"SPECIFIC plan", coupon.Scope{AppliesTo: coupon.Specific, Plans: x}, "p------"},
		{"SPECIFIC device", coupon.Scope{AppliesTo: coupon.Specific, Devices: x}, "--d----"},
		{"SPECIFIC accessory", coupon.Scope{AppliesTo: coupon.Specific, Accessories: coupon.NewItems("y")}, "-----A-"},
		{"SPECIFIC of all kinds", coupon.Scope{AppliesTo: coupon.Specific, Plans: x, Devices: x, Accessories: x}, "p-d-a--"},
		{"an unknown scope", coupon.Scope{AppliesTo: 9, Plans: x, Devices: x, Accessories: x}, "-------"},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			got := ""
			for i, l := range []pricing.Line{
				{Kind: pricing.Plan, ItemID: "x"},
				{Kind: pricing.Plan, ItemID: "y"},
				{Kind: pricing.Device, ItemID: "x"},
				{Kind: pricing.Device, ItemID: "y"},
				{Kind: pricing.Accessory, ItemID: "x"},
				{Kind: pricing.Accessory, ItemID: "y"},
				{Kind: pricing.Shipping, ItemID: "x"},
			} {
				mark := "-"
				if test.scope.Covers(&l) {
					mark = "pPdDaAs"[i : i+1]
				}
				got += mark
			}
			if got != test.want {
				t.Errorf("covers %s, want %s", got, test.want)
			}
			for _, l := range []pricing.Line{{ItemID: "x"}, {Class: pricing.ProductClass, ItemID: "x"}} {
				if test.scope.Covers(&l) {
					t.Errorf("covers a line of no kind: %+v", l)
				}
			}
		})
	}
}

// Kinds, categories and exclusions restrict every scope; a line must satisfy all of them.
func TestWhatAScopeCoversOfOpenKinds(t *testing.T) {
	t.Parallel()
	of := func(names ...string) pricing.Categories {
		set, err := pricing.NewCategories(names...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	lines := []pricing.Line{
		{Kind: "book", ItemID: "go", Categories: of("new", "tech")},
		{Kind: "book", ItemID: "novel", Categories: of("sale")},
		{Kind: "magazine", Class: pricing.SubscriptionClass, ItemID: "weekly", Categories: of("new")},
		{Kind: pricing.Plan, ItemID: "basic"},
		{Kind: pricing.Device, ItemID: "reader", Categories: of("tech")},
		{Kind: "courier", Class: pricing.ShippingClass, ItemID: "go", Categories: of("new")},
	}
	items := coupon.NewItems
	for _, test := range []struct {
		about string
		scope coupon.Scope
		want  string
	}{
		{"ALL", coupon.Scope{AppliesTo: coupon.All}, "11111-"},
		{"SUBSCRIPTION", coupon.Scope{AppliesTo: coupon.Subscription}, "--11--"},
		{"SUBSCRIPTION, plans narrow plans", coupon.Scope{AppliesTo: coupon.Subscription, Plans: items("plus")}, "--1---"},
		{"PRODUCT", coupon.Scope{AppliesTo: coupon.Product}, "11--1-"},
		{"PRODUCT, devices narrow devices", coupon.Scope{AppliesTo: coupon.Product, Devices: items("watch")}, "11----"},
		{"SPECIFIC", coupon.Scope{AppliesTo: coupon.Specific, Devices: items("reader", "go")}, "----1-"},
		{"one kind", coupon.Scope{AppliesTo: coupon.All, Kinds: items("book")}, "11----"},
		{"a kind of another class", coupon.Scope{AppliesTo: coupon.Product, Kinds: items("magazine")}, "------"},
		{"categories", coupon.Scope{AppliesTo: coupon.All, Categories: items("new", "sale")}, "111---"},
		{"categories of a class", coupon.Scope{AppliesTo: coupon.Product, Categories: items("tech")}, "1---1-"},
		{"not on sale", coupon.Scope{AppliesTo: coupon.All, ExcludedCategories: items("sale")}, "1-111-"},
		{"not these items", coupon.Scope{AppliesTo: coupon.All, ExcludedItems: items("go", "basic")}, "-11-1-"},
		{"all of it", coupon.Scope{
			AppliesTo: coupon.All, Kinds: items("book", "magazine"), Categories: items("new"), ExcludedItems: items("weekly"),
		}, "1-----"},
		{"SPECIFIC, but excluded", coupon.Scope{
			AppliesTo: coupon.Specific, Devices: items("reader"), ExcludedCategories: items("tech"),
		}, "------"},
	} {
		got := ""
		for _, covered := range eligibility.Lines(test.scope, lines) {
			got += map[bool]string{true: "1", false: "-"}[covered]
		}
		if got != test.want {
			t.Errorf("%s covers %s, want %s", test.about, got, test.want)
		}
	}
}

// Lines is Covers, line by line; shipping is never covered.
func TestLinesAreCoveredOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope, cart := anyScopeAndCart(t)
		got, want := eligibility.Lines(scope, cart.Lines), oracleLines(scope, cart)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-oracle +got):\n%s", diff)
		}
		if fault := scopeFault(scope, cart, func(s coupon.Scope, l pricing.Line) bool { return s.Covers(&l) }); fault != "" {
			t.Error(fault)
		}
	})
}

// anyScopeAndCart draws the two; half of the time items of every kind share two IDs,
// so that a rule which mixes the kinds up is found out.
func anyScopeAndCart(t *rapid.T) (coupon.Scope, pricing.Cart) {
	cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 8}).Draw(t, "cart")
	if rapid.Bool().Draw(t, "IDs of their own") {
		return rapid.OneOf(coupontest.Scope(), coupontest.NotCovering(cart)).Draw(t, "scope"), cart
	}
	id := rapid.SampledFrom([]string{"x", "y"})
	for i := range cart.Lines {
		cart.Lines[i].ItemID = id.Draw(t, "item")
	}
	items := func(of string) coupon.Items { return coupon.NewItems(rapid.SliceOfN(id, 0, 2).Draw(t, of)...) }
	return coupon.Scope{
		AppliesTo: rapid.SampledFrom([]coupon.AppliesTo{coupon.All, coupon.Subscription, coupon.Product, coupon.Specific}).Draw(t, "applies to"),
		Plans:     items("plans"), Devices: items("devices"), Accessories: items("accessories"),
	}, cart
}

// oracleLines is what the contract says of each line.
func oracleLines(scope coupon.Scope, cart pricing.Cart) []bool {
	s := situation{coupon: coupon.Coupon{Terms: coupon.Terms{Scope: scope}}, cart: cart}
	want := make([]bool, len(cart.Lines))
	for _, i := range s.eligible() {
		want[i] = true
	}
	return want
}

// scopeFault compares a rule with the contract, line by line.
func scopeFault(scope coupon.Scope, cart pricing.Cart, covers func(coupon.Scope, pricing.Line) bool) string {
	for i, want := range oracleLines(scope, cart) {
		if l := cart.Lines[i]; covers(scope, l) != want || want && l.Kind == pricing.Shipping {
			return fmt.Sprintf("scope %+v: line %d, %s %q, is covered: %t, want %t", scope, i, l.Kind, l.ItemID, covers(scope, l), want)
		}
	}
	return ""
}

// TestTheScopePropertyNotices: rules that read section 3 in another way do not pass.
func TestTheScopePropertyNotices(t *testing.T) {
	t.Parallel()
	for name, covers := range map[string]func(coupon.Scope, pricing.Line) bool{
		"ALL covers shipping": func(s coupon.Scope, l pricing.Line) bool {
			return s.Covers(&l) || s.AppliesTo == coupon.All && l.Kind == pricing.Shipping
		},
		"SUBSCRIPTION takes every plan": func(s coupon.Scope, l pricing.Line) bool {
			return s.Covers(&l) || s.AppliesTo == coupon.Subscription && l.Kind == pricing.Plan
		},
		"selected devices leave no accessory": func(s coupon.Scope, l pricing.Line) bool {
			joined := s.AppliesTo == coupon.Product && l.Kind == pricing.Accessory && s.Accessories.Len() == 0 && s.Devices.Len() > 0
			return s.Covers(&l) && !joined
		},
		"SPECIFIC reads an empty list as all": func(s coupon.Scope, l pricing.Line) bool {
			return s.Covers(&l) || s.AppliesTo == coupon.Specific && l.Kind == pricing.Plan && s.Plans.Len() == 0
		},
		"an ID of another kind counts": func(s coupon.Scope, l pricing.Line) bool {
			other := s.AppliesTo == coupon.Specific && l.Kind != pricing.Shipping && (s.Plans.Has(l.ItemID) || s.Devices.Has(l.ItemID))
			return s.Covers(&l) || other
		},
	} {
		fault := ""
		draw := rapid.Custom(func(t *rapid.T) string {
			scope, cart := anyScopeAndCart(t)
			return scopeFault(scope, cart, covers)
		})
		for seed := 0; seed < 2000 && fault == ""; seed++ {
			fault = draw.Example(seed)
		}
		if fault == "" {
			t.Errorf("a rule by which %s passes", name)
		}
	}
}
