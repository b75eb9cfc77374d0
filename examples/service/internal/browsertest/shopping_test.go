package browsertest_test

import (
	"encoding/json"
	"fmt"
)

// item is something in a cart.
type item struct {
	Kind     string `json:"kind"`
	ItemID   string `json:"itemId"`
	Quantity int    `json:"quantity"`
}

// fillCartKeepingCoupons puts items into the tab's cart, which keeps its coupons, and opens it.
func (p page) fillCartKeepingCoupons(items ...item) {
	p.t.Helper()
	body, err := json.Marshal(items)
	if err != nil {
		p.t.Fatal(err)
	}
	p.eval(fmt.Sprintf("localStorage.setItem('cart', %q)", body), nil)
	p.visit("/cart")
	p.visible("#cart [data-total=total]")
}

// fillCart puts items into the tab's cart, without coupons, and opens it.
func (p page) fillCart(items ...item) {
	p.t.Helper()
	var there bool
	p.eval(`location.protocol === "http:"`, &there)
	if !there {
		p.visit("/healthz") // an address of the service, to have its storage
	}
	p.withoutCoupons()
	p.fillCartKeepingCoupons(items...)
}

// withoutCoupons forgets the coupons that were entered before.
func (p page) withoutCoupons() { p.t.Helper(); p.eval("localStorage.removeItem('coupons')", nil) }

// apply enters a coupon code.
func (p page) apply(code string) {
	p.t.Helper()
	p.fill("#coupon-code", code)
	p.click("#apply-coupon")
}

// applied waits until the quote has taken a coupon's discount off.
func (p page) applied(code, discount, total string) {
	p.t.Helper()
	p.see("#coupon-name", code)
	p.see("[data-total=discount]", "−"+discount)
	p.see("[data-total=total]", total)
}

// toPayment leaves the checkout and waits for the payment page to ask for an amount.
func (p page) toPayment(amount string) {
	p.t.Helper()
	p.click("#pay-now")
	p.see("#total", amount)
}

// pay pays and waits until the webhook has told the service.
func (p page) pay() {
	p.t.Helper()
	p.click("#pay")
	p.orderIs("paid")
}

func (p page) orderIs(state string) {
	p.t.Helper()
	p.visible(fmt.Sprintf(`#order-state[data-state=%q]`, state))
}
