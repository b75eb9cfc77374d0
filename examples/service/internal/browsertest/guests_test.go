package browsertest_test

import (
	"testing"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// Where there are guests, a cart is paid with an address, also with a coupon.
func TestAGuestBuysACart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stores[0], func(c *app.Config) { c.Guests = true })
	p := w.visitor()
	p.fillCart(earbuds())
	p.apply("GADGET25")
	p.applied("GADGET25", "€25.00", "€74.00")
	p.click("#pay-now")
	p.fault("email", "An e-mail address is required.")
	p.focused("#guest-email")
	p.fill("#guest-email", "nobody@")
	p.click("#pay-now")
	p.visible("[data-field=email] .field-error")
	p.accessible("a cart of a guest", allRules)
	p.must(p.Hold("/payment/quote")) // the price of that address does not hold the payment up
	p.fill("#guest-email", "gus@example.org")
	p.toPayment("74.00 EUR")
	p.Release()
	p.gone("[data-field=email] .field-error")
	p.pay()
	p.see("[data-total=coupon]", "GADGET25")
	w.expectUses("GADGET25", uses{Used: 1, Completed: 1})
	p.visit("/cart")
	p.see("#state", "The cart is empty")
	p.fillCart(earbuds())
	p.apply("GADGET25")
	p.applied("GADGET25", "€25.00", "€74.00") // nobody knows who that is
	p.fill("#guest-email", "GUS@example.org")
	p.press("\t")
	p.see("#coupon-message [data-code=user_usage_limit_reached]", "as often as it allows")
	p.click("#remove-coupon")
	p.apply("VIP15")
	p.see("#coupon-message [data-code=coupon_not_found]", "does not exist") // like any code of others
}

// Where there are no guests, nobody can pay without signing in.
func TestWithoutGuestsACartAsksToSignIn(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		p.fillCart(earbuds())
		p.see("#checkout", "Sign in to pay")
		p.gone("#guest-email, #pay-now")
	})
}
