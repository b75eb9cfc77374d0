package browsertest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// combinable makes coupons of different groups, and one that excludes every other one.
func (w *world) combinable() {
	w.t.Helper()
	for code, draft := range map[string]struct{ group, amount string }{
		"SPRING": {"season", "5"}, "AUTUMN": {"season", "4"}, "WINTER": {"season", "8"}, "HELLO": {"welcome", "5"}, "LONELY": {"", "3"},
	} {
		w.create(coupon.Draft{Code: code, Name: code, Group: draft.group, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": draft.amount}})
	}
	w.create(coupon.Draft{Code: "BIG", Name: "Big", Group: "big", MinPurchase: coupon.Amounts{"": "150"}, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "20"}})
}

// another adds a further code.
func (p page) another(code string) {
	p.t.Helper()
	p.click("#add-coupon")
	p.apply(code)
}

// chip is what is shown of one of several codes.
func chip(code string) string { return fmt.Sprintf("[data-coupon=%s]", code) }

// Several codes, each with its amount, which can be taken off one by one.
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

// Of codes that cannot be combined, the cart keeps the best, and tells what the other would have saved.
func TestTheBestCodeIsKept(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.fillCart(earbuds())
			p.apply("SPRING")
			p.applied("SPRING", "€5.00", "€94.00")
			for code, instead := range map[string]string{"AUTUMN": "€4.00", "LONELY": "€3.00"} {
				p.eval(`window.totals = []; window.seen = new MutationObserver(() => totals.push(document.querySelector("[data-total=total]")?.innerText));
					seen.observe(document.querySelector("#checkout .totals"), { childList: true })`, nil)
				p.eval(`document.querySelector("#add-coupon").checkVisibility() && document.querySelector("#add-coupon").click()`, nil)
				p.apply(code)
				p.see("#coupon-message [data-code=not_combinable]", code+" cannot be used together with SPRING. With it you would save "+instead+" instead of €5.00.")
				p.hold(`document.querySelectorAll("[data-coupon]").length === 1 && document.querySelectorAll("#coupon-message .note").length === 1`)
				p.hold(`document.activeElement.id === "coupon-code" && document.activeElement.getAttribute("aria-invalid") === "true"`)
				p.hold(`totals.every((each) => each === "€94.00") && !document.querySelector("#pay-now").disabled`)
				p.applied("SPRING", "€5.00", "€94.00")
				p.fits("a cart with a refused code")
			}
			p.accessible("a cart with a refused code", allRules)
			p.visit("/cart") // where it is not tried again
			p.applied("SPRING", "€5.00", "€94.00")
			p.gone("#coupon-message .note")
			p.another("HELLO")
			p.see("[data-total=total]", "€89.00")
		}
		p.another("WINTER")
		p.see("#coupon-message [data-code=not_combinable]", "SPRING cannot be used together with WINTER. With it you would save €10.00 instead of €13.00.")
		p.hold(`document.querySelectorAll("[data-coupon]").length === 2 && document.querySelector("[data-coupon=SPRING]") === null`)
		p.see("[data-total=total]", "€86.00")
		p.toPayment("86.00 EUR")
	})
}

// A coupon stays on the cart on other pages, until it is removed, used, or somebody signs out.
func TestCouponsStayOnOtherPages(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("SPRING")
		p.another("HELLO")
		p.see("[data-total=total]", "€89.00")
		p.visit("/accessories")
		p.click("[data-item=watch] [data-action=buy]") // one coupon, the first one
		p.see("#checkout #coupon-name", "SPRING")
		p.see("#checkout [data-total=total]", "€224.00")
		p.visit("/plans")
		p.visit("/cart")
		p.see("[data-total=total]", "€89.00")
		p.click(chip("HELLO") + " button")
		p.see("[data-total=total]", "€94.00")
		p.visit("/cart")
		p.applied("SPRING", "€5.00", "€94.00")
		p.toPayment("94.00 EUR")
		p.pay()
		p.fillCartKeepingCoupons(earbuds())
		p.see("[data-total=total]", "€99.00")
		p.gone("[data-coupon]")
		p.apply("PLAN20") // does nothing for this cart, and nothing is said of it elsewhere
		p.see("#coupon-message [data-code=no_eligible_items]", "Nothing in the cart")
		p.visit("/accessories")
		p.click("[data-item=watch] [data-action=buy]")
		p.see("#checkout [data-total=total]", "€229.00")
		p.gone("#checkout :is(.note, [data-coupon])")
		p.visit("/plans")
		p.click("[data-item=plus] button")
		p.see("#checkout #coupon-name", "PLAN20")
		p.visit("/cart")
		p.visible("[data-coupon=PLAN20]")
		p.click("#sign-out")
		p.visible("#login-form")
		p.hold(`localStorage.getItem("coupons") === null`)
	})
}

// A link brings a code: to a cart with goods at once, and else for later. It is used once, and
// whatever it holds is text.
func TestALinkBringsACode(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.combinable()
		p := w.as(ann)
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.visit("/healthz")
			p.eval("localStorage.clear()", nil)
			p.visit("/cart?coupon=spring")
			p.see("#state", "The cart is empty")
			p.see("#state", "Kept until then: spring.")
			p.address("/cart")
			p.fits("an empty cart with a code")
			p.accessible("an empty cart with a code", allRules)
			p.fillCartKeepingCoupons(earbuds())
			p.applied("SPRING", "€5.00", "€94.00")
			p.visit("/cart?coupon=HELLO&notice=other_account")
			p.see("[data-total=total]", "€89.00")
			p.address("/cart?notice=other_account")
			p.visit("/cart?coupon=AUTUMN")
			p.see("#coupon-message [data-code=not_combinable]", "AUTUMN cannot be used together with SPRING. With it you would save €9.00 instead of €10.00.")
			p.see("[data-total=total]", "€89.00")
			p.visit("/cart?coupon=NOSUCHCODE")
			p.see("#coupon-message", "NOSUCHCODE: This coupon code does not exist.")
			p.see("[data-total=total]", "€89.00")
			p.visit("/cart")
			p.see("[data-total=total]", "€89.00")
			p.gone("#coupon-message .note")
			p.click(chip("HELLO") + " button")
			p.click(chip("SPRING") + " button")
			p.see("[data-total=total]", "€99.00")
		}
		for _, hostile := range []string{`<img src=x onerror="window.harmed=1">`, `"><script>window.harmed=1</script>`, "javascript:window.harmed=1", "\u202eEVIL", "../../admin", strings.Repeat("A", 256), " ", "%00"} {
			p.visit("/cart?coupon=" + url.QueryEscape(hostile))
			p.visible("[data-total=total]")
			p.address("/cart")
			p.hold(`window.harmed === undefined && document.querySelectorAll("main script, main img").length === 0`)
			p.see("[data-total=total]", "€99.00")
		}
		p.hold(`(localStorage.getItem("coupons") ?? "[]") === "[]"`)
		visitor := w.visitor() // a code that needs a sign-in waits for it
		visitor.fillCart(earbuds())
		visitor.visit("/cart?coupon=SPRING")
		visitor.see("#coupon-message [data-code=user_required]", "Sign in")
		visitor.click("#coupon-message a")
		visitor.signIn("ben")
		visitor.applied("SPRING", "€5.00", "€94.00")
	})
}

// Times that a customer reads are those of the customer's own clock, in words.
func TestTimesAreToldInTheCustomersWords(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.changedElsewhere("SOON", `{"startsAt":"2099-03-01T00:00:00Z"}`)
		w.changedElsewhere("OLD", `{"expiresAt":"2024-12-31"}`)
		p := w.as(ann)
		for _, row := range []struct{ zone, code, says string }{
			{"UTC", "SOON", "This coupon can be used from Sunday, 1 March 2099 on."},
			{"Asia/Tokyo", "SOON", "This coupon can be used from Sunday, 1 March 2099 at 09:00 on."},
			{"UTC", "OLD", "This coupon has expired. It was valid through Tuesday, 31 December 2024."},
			{"America/New_York", "OLD", "This coupon has expired. It was valid until Tuesday, 31 December 2024 at 19:00."},
		} {
			p.must(p.Zone(row.zone))
			p.fillCart(earbuds())
			p.apply(row.code)
			p.see("#coupon-message", row.says)
			p.hold(`!/UTC|GMT|:\d\d:\d\d/.test(document.querySelector("#checkout").innerText)`)
		}
		p.fillCart(earbuds())
		p.toPayment("99.00 EUR")
		p.see("body", "Time left to pay: ")
		p.hold(`!/UTC|GMT|:\d\d/.test(document.body.innerText)`)
	})
}

// Each type of discount says in the cart what it does.
func TestEachTypeOfDiscountIsUsedInTheCart(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 2}, item{"accessory", "cable", 2})
		for _, each := range []struct{ terms, says, discount string }{
			{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"2","maxUnits":3`, "€2.00 off each unit, at most 3 units", "€6.00"},
			{`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":{"GBP":"2","EUR":"3"},"currency":"GBP"`, "€3.00 off each unit", "€12.00"},
			{`"discountType":"FIXED_UNIT_PRICE","discountValue":"10"`, "Each unit for €10.00", "€183.00"},
			{`"discountType":"CHEAPEST_UNITS","discountValue":"50","units":1`, "50 % off the cheapest unit", "€6.25"},
			{`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":3,"getQuantity":1`, "Buy 3, get 1 at 100 % off", "€12.50"},
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
