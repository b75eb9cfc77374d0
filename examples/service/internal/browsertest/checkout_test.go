package browsertest_test

import "testing"

// Specification 4.6: a subscription is discounted on its eligible lines.
func TestAPlanIsBoughtWithACoupon(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/plans")
		p.click("[data-item=family] button")
		p.see("[data-total=total]", "€49.00")
		p.apply("family50")
		p.applied("FAMILY50", "€24.50", "€24.50")
		p.see(".line-discount", "−€24.50")
		p.toPayment("24.50 EUR")
		p.see(".coupon", "FAMILY50")
		w.expectUses("FAMILY50", uses{Reserved: 1})
		p.pay()
		p.see("[data-total=total]", "€24.50")
		p.see("[data-total=coupon]", "FAMILY50")
		w.expectUses("FAMILY50", uses{Used: 1, Completed: 1})
	})
}

// Over plain HTTP, as in a network at home, browsers have no crypto.randomUUID.
func TestAPlanIsBoughtOverPlainHTTP(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/plans")
		p.eval(`delete Crypto.prototype.randomUUID`, nil)
		p.click("[data-item=family] button")
		p.see("[data-total=total]", "€49.00")
		p.toPayment("49.00 EUR")
		p.pay()
	})
}

// Specification 4.6: the amount of a product link is post-discount already and is
// not discounted again.
func TestAProductIsBoughtWithACoupon(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/accessories")
		p.click("[data-item=watch] [data-action=buy]")
		p.see("[data-total=total]", "€229.00")
		p.apply("GADGET25")
		p.applied("GADGET25", "€25.00", "€204.00")
		p.click("input[name=shipping][value=standard]")
		p.see("[data-total=total]", "€208.90")
		p.toPayment("208.90 EUR")
		p.pay()
		w.expectUses("GADGET25", uses{Used: 1, Completed: 1})
	})
}

// What costs nothing, of itself or with a coupon, can be bought at once as well.
func TestAProductIsBoughtForNothing(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/accessories")
		p.click("[data-item=sim-tool] [data-action=buy]")
		p.see("[data-total=total]", "€0.00")
		p.toPayment("0.00 EUR")
		p.pay()
		p.visit("/accessories")
		p.click("[data-item=watch] [data-action=buy]")
		p.see("[data-total=total]", "€229.00")
		p.apply("FREEBIE")
		p.applied("FREEBIE", "€229.00", "€0.00")
		p.toPayment("0.00 EUR")
		p.pay()
		w.expectUses("FREEBIE", uses{Used: 1, Completed: 1})
	})
}

// Browsers keep a page as it was left for Back: its button would say "One moment" for
// ever.
func TestBackFromThePayment(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 1})
		p.eval(`document.getElementById("pay-now").textContent = "One moment"`, nil)
		p.eval(`dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`, nil)
		p.see("#pay-now", "Continue to payment")
		p.toPayment("99.00 EUR")
	})
}

// Specification 4.5: the cart, with the discount of each line and totals that follow
// every change.
func TestACartIsBoughtWithACoupon(t *testing.T) {
	onEveryStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/accessories")
		p.click("[data-item=watch] [data-action=add]")
		p.click("[data-item=earbuds] [data-action=add]")
		p.see("#cart-count", "2")
		p.visit("/cart")
		p.see("[data-total=total]", "€328.00")
		p.apply("summer10")
		p.applied("SUMMER10", "€32.80", "€295.20")
		p.see("[data-item=watch] .line-discount", "−€22.90")
		p.see("[data-item=earbuds] .line-discount", "−€9.90")
		p.click(`[data-focus="One more: accessory earbuds"]`)
		p.see("[data-item=earbuds] .line-discount", "−€19.80")
		p.see("[data-total=subtotal]", "€427.00")
		p.click("input[name=shipping][value=express]")
		p.applied("SUMMER10", "€42.70", "€397.20") // shipping is not discounted
		p.toPayment("397.20 EUR")
		p.pay()
		p.see("[data-total=discount]", "−€42.70")
		p.see("[data-total=coupon]", "SUMMER10")
		w.expectUses("SUMMER10", uses{Used: 1, Completed: 1})
		p.visit("/cart")
		p.see("#state", "The cart is empty")
	})
}

// Specification 3.2 and 6: points are exchanged for a reservation, which the
// payment completes.
func TestPointsAreExchangedAndTheCouponIsUsed(t *testing.T) {
	onEveryStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 1})
		p.see("#account-points", "1,500 points")
		p.apply("POINTS25")
		p.see(`[data-code=points_not_redeemed]`, "Exchange 500 points for this coupon first.")
		p.click("#exchange-points")
		p.applied("POINTS25", "€24.75", "€74.25")
		p.see("#account-points", "1,000 points")
		p.toPayment("74.25 EUR")
		p.pay()
		w.expectUses("POINTS25", uses{Used: 1, Completed: 1})
		if got := w.points(ann); got != 1_000 {
			w.t.Errorf("the balance is %d", got)
		}
	})
}

// Specification 3.2: a session that expires gives the place and the points back.
func TestAnExpiredSessionGivesPlaceAndPointsBack(t *testing.T) {
	onEveryStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 1})
		p.apply("POINTS25")
		p.click("#exchange-points")
		p.applied("POINTS25", "€24.75", "€74.25")
		p.toPayment("74.25 EUR")
		w.expectUses("POINTS25", uses{Reserved: 1})
		p.click("#expire")
		p.orderIs("cancelled")
		p.see("#order-state", "Your coupon and points are free again.")
		p.see("#account-points", "1,500 points")
		w.expectUses("POINTS25", uses{})
		p.visit("/cart") // nothing was bought
		p.see("[data-total=total]", "€99.00")
	})
}

// An order without a coupon has none to give back.
func TestAnOrderWithoutACouponFreesNone(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.toPayment("99.00 EUR")
		p.click("#expire")
		p.orderIs("cancelled")
		p.see("#order-state", "nothing was charged.")
		p.hold(`!document.querySelector("#order-state").innerText.includes("coupon")`)
	})
}

// A declined payment leaves the session open and charges nothing; the customer who
// goes back keeps the place, and when the session ends the place is free.
func TestADeclinedPaymentCanBeRepeatedOrGivenUp(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 1})
		p.apply("LASTONE")
		p.applied("LASTONE", "€39.60", "€59.40")
		p.toPayment("59.40 EUR")
		p.click("#decline")
		p.see("[role=alert]", "Your bank declined the payment.")
		w.expectUses("LASTONE", uses{Reserved: 1})

		p.visit("/cart") // the customer's own reservation does not stand in the way
		p.visible("#cart [data-total=total]")
		p.applied("LASTONE", "€39.60", "€59.40")
		p.toPayment("59.40 EUR")
		p.click("#decline")
		p.see("[role=alert]", "Your bank declined the payment.")
		p.click("#expire")
		p.orderIs("cancelled")
		w.expectUses("LASTONE", uses{})

		other := w.as(ben)
		other.fillCart(item{"accessory", "earbuds", 1})
		other.apply("LASTONE")
		other.applied("LASTONE", "€39.60", "€59.40")
	})
}

// Contract 5.5: a delayed payment is a redemption when it arrives and not before.
func TestADelayedPaymentCountsWhenItArrives(t *testing.T) {
	onEveryStore(t, func(w *world) {
		for _, end := range []struct {
			button, order string
			want          uses
		}{
			{"#fails", "cancelled", uses{}},
			{"#arrives", "paid", uses{Used: 1, Completed: 1}},
		} {
			p := w.as(ann)
			p.fillCart(item{"accessory", "earbuds", 1})
			p.apply("LASTONE")
			p.applied("LASTONE", "€39.60", "€59.40")
			p.toPayment("59.40 EUR")
			var payment string
			p.eval("location.pathname", &payment)
			p.click("#later")
			p.orderIs("awaiting_payment")
			w.expectUses("LASTONE", uses{Reserved: 1})
			p.visit("/cart")
			p.see("#state", "The cart is empty") // the transfer may arrive when this tab is long closed
			p.visit(payment)
			p.click(end.button)
			p.orderIs(end.order)
			w.expectUses("LASTONE", end.want)
		}
	})
}

// Specification 1: what the box shows is what the API said, so an applied coupon can
// be taken off and leaves nothing behind.
func TestACouponIsTakenOff(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(item{"accessory", "earbuds", 1})
		p.apply("SUMMER10")
		p.applied("SUMMER10", "€9.90", "€89.10")
		p.click("#remove-coupon")
		p.gone("[data-total=discount]")
		p.see("[data-total=total]", "€99.00")
		p.toPayment("99.00 EUR")
		p.pay()
		w.expectUses("SUMMER10", uses{})
	})
}

func TestSigningInLeadsBack(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		p.visit("/admin/coupons?search=summer")
		p.fill("#email", "admin@example.org")
		p.fill("#password", "wrong")
		p.press("\r")
		p.see("#form-error", "The e-mail address or the password is wrong.")
		p.fill("#password", "admin-demo-1")
		p.press("\r")
		p.visible("tr[data-code=SUMMER10]")
		p.hold(`location.pathname + location.search === "/admin/coupons?search=summer"`)
		p.click("#sign-out")
		p.visible("#email")
		p.visit("/admin/coupons")
		p.visible("#email")
	})
}

// What is missing is said at its field, and no longer than it is missing.
func TestASignInNamesWhatIsMissing(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		p.visit("/login")
		p.click("#login-form [type=submit]")
		p.fault("email", "An e-mail address is required.")
		p.fault("password", "A password is required.")
		p.gone("#form-error")
		p.focused("#email[aria-invalid=true][aria-describedby=error-email]")
		p.fill("#email", "ann@example.org")
		p.click("#login-form [type=submit]")
		p.gone("[data-field=email] .field-error")
		p.fault("password", "A password is required.")
		p.focused("#password")
		p.fill("#password", "wrong")
		p.click("#login-form [type=submit]")
		p.see("#form-error", "The e-mail address or the password is wrong.")
		p.gone(".field-error")
		p.signIn("ann")
		p.see("#account-name", "Ann Archer")
	})
}

func TestCustomersDoNotAdminister(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/admin/coupons")
		p.see("#state", "Administrators only")
		p.gone("#new-coupon")
		p.gone("#coupons")
	})
}
