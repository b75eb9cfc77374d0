package eligibility_test

import (
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
				if eligibility.Covers(test.scope, l) {
					mark = "pPdDaAs"[i : i+1]
				}
				got += mark
			}
			if got != test.want {
				t.Errorf("covers %s, want %s", got, test.want)
			}
			for _, l := range []pricing.Line{{ItemID: "x"}, {Kind: 5, ItemID: "x"}, {Kind: 255, ItemID: "x"}} {
				if eligibility.Covers(test.scope, l) {
					t.Errorf("covers a line of no kind: %+v", l)
				}
			}
		})
	}
}

// Lines and AppendLines are Covers, line by line; shipping is never covered.
func TestLinesAreCoveredOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 8}).Draw(t, "cart")
		scope := rapid.OneOf(coupontest.Scope(), coupontest.NotCovering(cart)).Draw(t, "scope")
		got := eligibility.Lines(scope, cart.Lines)
		s := situation{coupon: coupon.Coupon{Scope: scope}, cart: cart}
		want := make([]bool, len(cart.Lines))
		for _, i := range s.eligible() {
			want[i] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-oracle +got):\n%s", diff)
		}
		for i, l := range cart.Lines {
			if got[i] != eligibility.Covers(scope, l) || got[i] && l.Kind == pricing.Shipping {
				t.Errorf("line %d is covered: %t", i, got[i])
			}
		}
		appended := eligibility.AppendLines([]bool{true}, scope, cart.Lines)
		if diff := cmp.Diff(append([]bool{true}, want...), appended); diff != "" {
			t.Errorf("AppendLines (-oracle +got):\n%s", diff)
		}
	})
}
