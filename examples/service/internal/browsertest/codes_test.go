package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// combinable makes coupons of different groups, and one that excludes every other one.
func (w *world) combinable() {
	w.t.Helper()
	for code, group := range map[string]string{"SPRING": "season", "AUTUMN": "season", "HELLO": "welcome", "LONELY": ""} {
		w.create(coupon.Draft{Code: code, Name: code, Group: group, DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(5)})
	}
	w.create(coupon.Draft{Code: "BIG", Name: "Big", Group: "big", MinPurchase: decimal.NewFromInt(150), DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(20)})
}

// another adds a further code.
func (p page) another(code string) {
	p.t.Helper()
	p.click("#add-coupon")
	p.apply(code)
}

// chip is what is shown of one of several codes.
func chip(code string) string { return fmt.Sprintf("[data-coupon=%s]", code) }

// Issue 41: several codes, each with its amount, which can be taken off one by one.
func TestACartIsBoughtWithSeveralCoupons(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("spring")
		p.applied("SPRING", "€5.00", "€94.00")
		p.another("HELLO")
		p.see(chip("HELLO")+" .coupon-amount", "−€5.00")
		p.see(chip("SPRING")+" .coupon-amount", "−€5.00")
		p.applied("SPRING", "€10.00", "€89.00")
		p.focused(chip("HELLO") + " button")
		p.another("NOSUCHCODE")
		p.see("#coupon-message [data-code=coupon_not_found]", "does not exist")
		p.see("[data-total=total]", "€89.00")
		p.hold(`!document.querySelector("#pay-now").disabled`)
		p.apply("HELLO") // again
		p.gone("#coupon-code")
		p.hold(`document.querySelectorAll("[data-coupon]").length === 2`)
		p.click(chip("SPRING") + " button")
		p.applied("HELLO", "€5.00", "€94.00")
		p.another("SPRING")
		p.see("[data-total=total]", "€89.00")
		p.toPayment("89.00 EUR")
		p.pay()
		p.see("[data-total=coupon]", "SPRING")
		p.see("[data-total=coupon]", "HELLO")
		w.expectUses("SPRING", uses{Used: 1, Completed: 1})
		w.expectUses("HELLO", uses{Used: 1, Completed: 1})
	})
}

// Codes that exclude each other say so, each beside itself, until one of them is removed.
func TestCodesThatExcludeEachOtherSaySo(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("SPRING")
		p.another("AUTUMN")
		p.see(chip("SPRING")+" [data-code=not_combinable]", "cannot be used together with AUTUMN")
		p.see(chip("AUTUMN")+" [data-code=not_combinable]", "cannot be used together with SPRING")
		p.see(chip("AUTUMN"), "Not applied")
		p.see("[data-total=total]", "€99.00")
		p.hold(`document.querySelector("#pay-now").disabled && document.querySelector("#coupon-message").childElementCount === 0`)
		p.click(chip("SPRING") + " button")
		p.applied("AUTUMN", "€5.00", "€94.00")
		p.gone("[data-code=not_combinable]")
		p.another("LONELY")
		p.see(chip("LONELY")+" .note", "together with AUTUMN")
		p.click(chip("AUTUMN") + " button")
		p.applied("LONELY", "€5.00", "€94.00")
	})
}

// Each type of discount says in the cart what it does.
func TestEachTypeOfDiscountIsUsedInTheCart(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 2}, item{"accessory", "cable", 2})
		for _, each := range []struct{ terms, says, discount string }{
			{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"2"`, "€2.00 off each unit", "€8.00"},
			{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10"`, "Each unit for €10.00", "€183.00"},
			{`"discountType":"CHEAPEST_UNITS","discountValue":"50","units":1`, "50 % off the cheapest units", "€6.25"},
			{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":3,"getQuantity":1`, "100 % off further units", "€12.50"},
			{`"discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":"2","percent":"10"}]`, "the more it takes off", "€22.30"},
		} {
			var draft coupon.Draft
			require.NoError(w.t, draft.UnmarshalJSON([]byte(`{"code":"ONE","name":"One",`+each.terms+`}`)))
			made := w.create(draft)
			p.apply("ONE")
			p.see(chip("ONE"), each.says)
			p.see("[data-total=discount]", "−"+each.discount)
			p.click("#remove-coupon")
			p.gone("[data-coupon]")
			require.NoError(w.t, w.Service.Delete(w.t.Context(), made.ID))
		}
	})
}

// What one of several codes is refused for stands beside that code; the others are applied.
func TestARefusalOfOneOfSeveralCodesIsBesideIt(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("HELLO")
		p.another("BIG")
		p.see(chip("BIG")+" [data-code=minimum_purchase_not_met]", "€51.00 is missing")
		p.see(chip("HELLO")+" .coupon-amount", "−€5.00")
		p.gone(chip("HELLO") + " .note")
		p.see("[data-total=total]", "€94.00")
		p.click(`[data-focus^="One more"]`)
		p.see(chip("BIG")+" .coupon-amount", "−€20.00")
		p.see("[data-total=total]", "€173.00")
		p.gone("[data-coupon] .note")
		p.must(p.Resize(360, 800, 1))
		p.fits("a cart with several coupons")
		p.accessible("a cart with several coupons", allRules)
	})
}
