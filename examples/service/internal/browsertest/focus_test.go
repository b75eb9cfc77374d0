package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// focused waits until an element has the focus.
func (p page) focused(selector string) {
	p.t.Helper()
	p.hold(fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, selector))
}

// activate does by keyboard what a click does.
func (p page) activate(selector string) {
	p.t.Helper()
	p.visible(selector)
	p.eval(fmt.Sprintf(`document.querySelector(%q).focus()`, selector), nil)
	p.focused(selector)
	p.press(kb.Enter)
}

// Whoever applies a coupon by keyboard goes on from the coupon box, whatever it shows,
// and is told what became of it.
func TestTheFocusStaysInTheCouponBox(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		box := func() {
			p.fill("#coupon-code", "NOSUCHCODE")
			p.activate("#apply-coupon")
			p.see("#coupon-message", "does not exist")
			p.focused("#coupon-code")

			p.fill("#coupon-code", "SUMMER10")
			p.activate("#apply-coupon")
			p.applied("SUMMER10", "", "")
			p.focused("#remove-coupon")
			p.hold(`document.querySelector("#coupon-name").closest("[role=status]").checkVisibility()`)
			p.press(kb.Enter)
			p.focused("#coupon-code")
			p.press("summer10")
			p.press(kb.Enter) // in the field itself
			p.focused("#remove-coupon")
			p.press(kb.Enter)
			p.gone("[data-total=discount]")
		}
		box()
		p.fill("#coupon-code", "POINTS25")
		p.activate("#apply-coupon")
		p.activate("#exchange-points")
		p.applied("POINTS25", "€24.75", "€74.25")
		p.focused("#remove-coupon")
		p.press(kb.Enter) // which keeps it from the next checkout
		p.gone("[data-total=discount]")
		p.visit("/plans")
		p.click("[data-item=family] button")
		p.visible("#checkout [data-total=total]")
		box()
	})
}

// A price that comes later neither announces the coupon again nor moves the focus.
func TestTheCouponBoxKeepsItsButton(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("SUMMER10")
		p.applied("SUMMER10", "€9.90", "€89.10")
		p.focused("#remove-coupon")
		p.eval(`document.querySelector("#remove-coupon").dataset.same = "yes"`, nil)
		p.eval(`document.querySelector('[data-focus^="One more"]').click()`, nil)
		p.see("[data-total=total]", "€178.20")
		p.focused("#remove-coupon[data-same=yes]")
	})
}

// A code that is looked up is looked up once, and a customer who has gone on keeps the
// focus.
func TestALateAnswerToACodeLeavesTheFocusAlone(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Hold("/payment/apply-coupon/"))
		p.fill("#coupon-code", "NOSUCHCODE")
		p.activate("#apply-coupon")
		p.hold(`document.querySelector("#apply-coupon").getAttribute("aria-disabled") === "true"`)
		p.click(`[data-focus^="One more"]`)
		p.Release()
		p.see("#coupon-message", "does not exist")
		p.hold(`!document.querySelector("#apply-coupon").hasAttribute("aria-disabled")`)
		p.focused(`[data-focus^="One more"]`)
	})
}

// A price without a coupon that comes after the refusal of a code says nothing about it.
func TestALatePriceLeavesTheRefusalOfACode(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Hold("/payment/quote"))
		p.click(`[data-focus^="One more"]`)
		p.fill("#coupon-code", "NOSUCHCODE")
		p.activate("#apply-coupon")
		p.see("#coupon-message", "does not exist")
		p.Release()
		p.see("[data-total=total]", "€198.00")
		p.see("#coupon-message", "does not exist")
		p.hold(`document.querySelector("#coupon-code").getAttribute("aria-invalid") === "true"`)
		p.apply("SUMMER10")
		p.applied("SUMMER10", "€19.80", "€178.20")
		p.hold(`document.querySelector("#coupon-message").childElementCount === 0`)
	})
}

// A code that was applied and cannot be looked up again is neither applied nor shown as
// if it were, and the cart is priced without it.
func TestACodeThatCannotBeLookedUpAgain(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("POINTS25")
		p.click("#exchange-points")
		p.applied("POINTS25", "€24.75", "€74.25")
		w.cancelExchanges(ann)
		p.click(`[data-focus^="One more"]`)
		p.see("#coupon-message [data-code=points_not_redeemed]", "Exchange 500 points")
		p.must(p.Cut("/payment/apply-coupon/"))
		p.click("#exchange-points")
		p.see("#coupon-message", "The server cannot be reached.")
		p.visible("#coupon-code")
		p.gone("#coupon-name")
		p.hold(`!document.querySelector("#pay-now").disabled`)
		p.Release()
		p.click("#apply-coupon")
		p.applied("POINTS25", "€49.50", "€148.50")
	})
}

// A payment that could not be prepared is tried again from where the customer is.
func TestTheFocusStaysOnThePayment(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Cut("/payment/cart-checkout"))
		p.activate("#pay-now")
		p.see("#checkout", "The server cannot be reached.")
		p.focused("#pay-now")
		p.Release()
		p.press(kb.Enter)
		p.see("#total", "99.00 EUR")
	})
}

// Who takes a line out of the cart goes on from the next one, the last one, or, when
// nothing is left, from what the page offers then.
func TestTheFocusStaysInTheCart(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds(), item{"accessory", "cable", 1}, item{"device", "watch", 1}, item{"device", "tablet", 1})
		lines := func(count int) {
			w.t.Helper()
			p.hold(fmt.Sprintf(`document.querySelectorAll("#lines .line").length === %d`, count))
		}
		p.activate(`[data-item=cable] .link-button`)
		lines(3)
		p.focused("[data-item=watch]")
		p.eval(`document.querySelector("input[value=express]").click()`, nil) // another price, with the focus on the line
		p.see("[data-total=shipping]", "€12.90")
		p.focused("[data-item=watch]")
		p.activate(`[data-item=tablet] .link-button`)
		lines(2)
		p.focused("[data-item=watch]")
		p.activate(`[data-item=earbuds] [data-focus^="One less"]`)
		lines(1)
		p.focused("[data-item=watch]")
		p.press(kb.Tab)
		p.focused(`[data-item=watch] [data-focus^="One less"]`)
		p.activate(`[data-item=watch] .link-button`)
		p.see("#state", "The cart is empty")
		p.focused("#state a")
	})
}

// At either end of the table the other way is left.
func TestTheFocusStaysInThePager(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.visit("/admin/coupons?pageSize=10")
		p.activate("#next")
		p.see("#page-label", "Page 2 of 2")
		p.focused("#previous")
		p.press(kb.Enter)
		p.see("#page-label", "Page 1 of 2")
		p.focused("#next")
	})
}
