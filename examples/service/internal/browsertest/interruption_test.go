package browsertest_test

import (
	"testing"

	"github.com/couponkit/couponkit/examples/service/internal/api"
)

// signedOutElsewhere lets the tab's sign-in end, as time or another tab does, without
// the page knowing.
func (w *world) signedOutElsewhere(p page) {
	w.t.Helper()
	p.must(p.SetCookie(api.SessionCookie, "ended"))
}

// signIn fills the form of the sign-in.
func (p page) signIn(name string) {
	p.t.Helper()
	p.fill("#email", name+"@example.org")
	p.fill("#password", name+"-demo-1")
	p.click("#login-form [type=submit]")
}

// Whoever pays for so long that his sign-in ends signs in again and sees his order.
func TestASignInThatEndsWhilePayingLeadsToTheOrder(t *testing.T) {
	onEveryStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.toPayment("99.00 EUR")
		w.signedOutElsewhere(p)
		p.click("#pay")
		p.signIn("ann")
		p.orderIs("paid")
		p.see("#totals", "€99.00")
	})
}
