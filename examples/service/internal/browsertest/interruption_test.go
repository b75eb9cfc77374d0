package browsertest_test

import (
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/redemption"
)

// signedOutElsewhere lets the tab's sign-in end, as time or another tab does, without
// the page knowing.
func (w *world) signedOutElsewhere(p page) {
	w.t.Helper()
	p.must(p.SetCookie(api.SessionCookie, "ended"))
}

// signInElsewhere signs a demo user in as another tab of the same browser does.
func (p page) signInElsewhere(name string) {
	p.t.Helper()
	var status int
	p.eval(fmt.Sprintf(`fetch("/login", {method: "POST", headers: {"Content-Type": "application/json"},
		body: JSON.stringify({email: "%[1]s@example.org", password: "%[1]s-demo-1"})}).then((answer) => answer.status)`, name), &status)
	require.Equal(p.t, 200, status)
}

// signIn fills the form of the sign-in.
func (p page) signIn(name string) {
	p.t.Helper()
	p.fill("#email", name+"@example.org")
	p.fill("#password", name+"-demo-1")
	p.click("#login-form [type=submit]")
}

// Customers who pay for so long that their sign-in ends sign in again and see the order.
func TestASignInThatEndsWhilePayingLeadsToTheOrder(t *testing.T) {
	onOneStore(t, func(w *world) {
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

// A browser that keeps no cookie of the service is told why it is not signed in.
func TestASignInThatIsNotKeptIsReported(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		p.visit("/login")
		p.must(p.Answer("/session", `{"user":null,"csrfToken":""}`)) // as it is without the cookie
		p.signIn("ann")
		p.see("#form-error", "Your browser did not keep the sign-in.")
		p.Release()
		p.signIn("ann")
		p.see("#account-name", "Ann Archer")
	})
}

// A sign-in that has ended before does not stand in the way of signing out.
func TestSigningOutTwice(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.visit("/cart")
		p.visible("#sign-out")
		w.signedOutElsewhere(p)
		p.click("#sign-out")
		p.visible("#email")
	})
}

// A page goes on after somebody has signed in again in another tab, and never acts
// for another account than the one that it shows.
func TestSigningInAgainInAnotherTab(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.signInElsewhere("ben")
		for range 2 {
			p.click("#pay-now")
			p.see("#checkout [data-code=account_changed]", "Another account is signed in now.")
			p.hold(`!document.querySelector("#pay-now").disabled`)
		}
		p.signInElsewhere("ann")
		p.toPayment("99.00 EUR")
		p.pay()
	})
}

// An administrator whose sign-in has ended is told where to sign in.
func TestASignInThatEndsOnTheListIsRenewed(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		w.signedOutElsewhere(p)
		p.fill("#search", "summer")
		p.see("#state", "Sign in first.")
		p.click("#state a")
		p.signIn("admin")
		p.firstRow("SUMMER10")
		p.address("/admin/coupons?search=summer")
	})
}

// Every click on a quantity counts, also those that come before the prices of the
// first one.
func TestEveryClickOnAQuantityCounts(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Hold("/payment/quote"))
		for range 3 {
			p.click(`[data-focus^="One more"]`)
		}
		p.Release()
		p.see("[data-total=total]", "€396.00")
		p.see("#lines output", "4")
		p.click(`[data-focus^="One less"]`)
		p.see("[data-total=total]", "€297.00")
	})
}

// What the processor answers after the form was closed is shown beside the form that
// is open then, and does not close it.
func TestALateAnswerLeavesTheNextFormAlone(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, code := range []string{"TENOFF", "FIRST"} {
			p.begin(code, "PERCENTAGE", "10")
			p.must(p.Hold("/admin/coupon"))
			p.click("#save")
			p.hold(`document.querySelector("#save").getAttribute("aria-disabled") === "true"`)
			p.leave()
			p.gone("#coupon-dialog")
			p.click("#new-coupon")
			p.fill("#f-code", "SECOND")
			p.Release()
			p.see("#toasts", map[string]string{"TENOFF": "TENOFF was not saved. A coupon with this code exists already.", "FIRST": "FIRST is ready to use."}[code])
			p.gone("#coupon-form .field-error")
			p.visible("#coupon-dialog")
			p.hold(`document.querySelector("#f-code").value === "SECOND"`)
			p.leave()
			p.gone("#coupon-dialog")
		}
	})
}

// A switch that has answered does not take the focus from what somebody does by then.
func TestASwitchLeavesTheFocusWhereItIs(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		toggle := rowOf("SUMMER10") + " [data-action=toggle]"
		p.must(p.Hold("/admin/coupon/" + w.coupon("SUMMER10").ID))
		p.click(toggle)
		p.hold(fmt.Sprintf(`document.querySelector(%q).disabled`, toggle))
		p.click("#search")
		p.Release()
		p.hold(fmt.Sprintf(`!document.querySelector(%q).disabled`, toggle))
		p.hold(`document.activeElement.id === "search"`)

		p.click(toggle) // and whoever has stayed finds it where it was
		p.hold(fmt.Sprintf(`!document.querySelector(%q).disabled && document.activeElement === document.querySelector(%[1]q)`, toggle))
	})
}

// loseAnswers lets the service answer requests of a method without the page hearing of it,
// until answered is called.
func (p page) loseAnswers(method string) (answered func()) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`{ window.heard = fetch; fetch = async (path, init) => {
		const answer = await heard(path, init);
		if (init.method === %q) throw new TypeError("the connection was lost");
		return answer;
	} }`, method), nil)
	return func() { p.t.Helper(); p.eval(`fetch = heard`, nil) }
}

// A switch whose answer was lost shows what is stored, and says when it does not know it.
func TestASwitchWhoseAnswerIsLostShowsWhatIsStored(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		toggle := rowOf("SUMMER10") + " [data-action=toggle]"
		shows := func(active bool) {
			w.t.Helper()
			p.hold(fmt.Sprintf(`(({disabled, ariaChecked}) => !disabled && ariaChecked === "%t")(document.querySelector(%q))`, active, toggle))
		}
		p.loseAnswers("PATCH")
		p.click(toggle)
		shows(false)
		p.see("#toasts", "SUMMER10 is inactive now.")
		require.False(w.t, w.coupon("SUMMER10").Active())
		p.focused(toggle)

		p.visit("/admin/coupons")
		p.visible(toggle)
		p.must(p.Cut("/admin/coupon/" + w.coupon("SUMMER10").ID))
		p.click(toggle)
		p.see("#toasts", "SUMMER10 may be active or inactive. The server cannot be reached.")
		shows(false)
	})
}

// Whoever has edited a coupon goes on from its row, which is another one then.
func TestTheFocusComesBackToTheRow(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("VIP15") + " [data-action=edit]")
		p.fill("#f-name", "Renamed")
		p.press(kb.Enter)
		p.see(rowOf("VIP15"), "Renamed")
		p.gone("#coupon-dialog")
		p.hold(fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, rowOf("VIP15")+" [data-action=edit]"))
	})
}

// A coupon that another administrator has deleted leaves the table as soon as that
// is known, and nothing wrong is said about it.
func TestACouponThatIsGoneLeavesTheTable(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for action, codes := range map[string][]string{"toggle": {"OLD", "SOON"}, "edit": {"PAUSED", "FREEBIE"}} {
			for _, code := range codes {
				require.NoError(w.t, w.Service.Delete(w.t.Context(), w.coupon(code).ID))
			}
			p.click(rowOf(codes[0]) + " [data-action=" + action + "]")
			p.see("#toasts", codes[0]+" was deleted by somebody else.")
			p.gone(rowOf(codes[0]))
			p.gone(rowOf(codes[1]))
		}
	})
}

// reserve opens checkouts of a customer with a coupon.
func (w *world) reserve(userID, code string, count int) {
	w.t.Helper()
	ctx := couponkit.WithSubjects(w.t.Context(), ratelimit.Subject{Limit: "attempts_per_user", ID: userID})
	for range count {
		_, err := w.Service.Checkout(ctx, couponkit.CheckoutRequest{
			Customer: eligibility.Customer{ID: userID}, Codes: []string{code}, SuccessURL: w.URL + "/plans", CancelURL: w.URL + "/cart",
			Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
				{ID: "1", Kind: pricing.Accessory, ItemID: "earbuds", Quantity: 1, UnitPrice: 99_00},
			}},
		})
		require.NoError(w.t, err)
	}
}

// Two clicks on the button for more bring the next redemptions once.
func TestMoreRedemptionsAreShownOnce(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.reserve(ann, "SUMMER10", 120)
		p := w.administer()
		p.visit("/admin/coupons/" + w.coupon("SUMMER10").ID)
		p.see("#redemptions-count", "120 redemptions")
		rows := func(count int) {
			w.t.Helper()
			p.hold(fmt.Sprintf(`document.querySelectorAll("#redemptions-rows tr").length === %d`, count))
		}
		rows(50)
		p.must(p.Hold("/admin/coupon/"))
		p.click("#redemptions-more")
		p.click("#redemptions-more")
		p.Release()
		rows(100)
		p.click("#redemptions-more")
		rows(120)
		p.gone("#redemptions-more")
	})
}

// A page that could not ask who is signed in says so, and knows it as soon as the
// service answers.
func TestAPageAsksAgainWhoIsSignedIn(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.must(p.Cut("/session"))
		p.visit("/plans")
		p.see("#toasts", "The server cannot be reached.")
		p.gone("#sign-in")
		p.Release()
		p.see("#account-name", "Ann Archer")
		p.gone("#toasts .toast")
		p.click("[data-item=family] button")
		p.see("[data-total=total]", "€49.00")
		p.toPayment("49.00 EUR")
	})
}

// A page asks a service that does not answer less and less often, and not at all while
// nobody sees the page.
func TestAPageLeavesAServiceThatDoesNotAnswerAlone(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.must(p.Cut("/session"))
		p.visit("/plans")
		goOn := p.hesitate()
		var pauses []int
		for len(pauses) == 0 || pauses[len(pauses)-1] < 30_000 && len(pauses) < 10 {
			pauses = append(pauses, goOn())
		}
		pauses = append(pauses, goOn())
		want := []int{2_000, 4_000, 8_000, 16_000, 30_000, 30_000} // some of them before the test has looked
		require.LessOrEqual(w.t, len(pauses), len(want))
		if diff := cmp.Diff(want[len(want)-len(pauses):], pauses); diff != "" {
			w.t.Errorf("milliseconds between questions (-want +got):\n%s", diff)
		}

		p.hold(`Boolean(window.waiting)`)
		p.asksNothingUnseen(goOn)
		p.Release()
		p.comesToLight()
		p.see("#account-name", "Ann Archer")
	})
}

// The page of an order asks for it no more while nobody sees the page, and at once when
// somebody does.
func TestAnOrderIsNotFollowedUnseen(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.toPayment("99.00 EUR")
		p.click("#later")
		p.orderIs("awaiting_payment")
		goOn := p.hesitate()
		p.hold(`Boolean(window.waiting)`)
		p.asksNothingUnseen(goOn)
		p.comesToLight()
		p.hold(`asked > 0`)
	})
}

// hesitate counts what the page asks, and lets it go on after its pauses only when told to,
// which returns how many milliseconds it would have waited.
func (p page) hesitate() (goOn func() int) {
	p.t.Helper()
	p.eval(`{
		const ask = fetch;
		window.asked = 0;
		fetch = (...request) => { asked += 1; return ask(...request); };
		window.later = setTimeout;
		setTimeout = (call, pause) => { window.waiting = { call, pause }; };
	}`, nil)
	return func() (pause int) {
		p.t.Helper()
		p.hold(`Boolean(window.waiting)`)
		p.eval(`(() => { const { call, pause } = waiting; waiting = null; call(); return pause; })()`, &pause)
		return pause
	}
}

// asksNothingUnseen lets a page that hesitates believe that nobody sees it, and go on.
func (p page) asksNothingUnseen(goOn func() int) {
	p.t.Helper()
	p.eval(`Object.defineProperty(document, "hidden", { configurable: true, value: true })`, nil)
	p.eval(`asked = 0`, nil)
	goOn()
	p.eval(`new Promise((done) => later(done))`, nil) // whatever the page does at once is done
	p.hold(`asked === 0`)
}

func (p page) comesToLight() {
	p.t.Helper()
	p.eval(`delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))`, nil)
}

// What was put into the cart while the customer paid was not bought, and stays.
func TestWhatIsAddedWhilePayingStaysInTheCart(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds(), item{"accessory", "cable", 2})
		p.toPayment("124.00 EUR")
		p.eval(`localStorage.setItem("cart", JSON.stringify([
			{kind: "device", itemId: "watch", quantity: 1}, {kind: "accessory", itemId: "earbuds", quantity: 3}, {kind: "accessory", itemId: "cable", quantity: 1}]))`, nil)
		p.pay()
		p.visit("/cart")
		p.see("[data-total=total]", "€427.00")
		p.see("[data-item=watch] output", "1")
		p.see("[data-item=earbuds] output", "2")
		p.gone("[data-item=cable]")
	})
}

// orderBecomes waits until the service knows what has become of Ann's order, whose page does
// not.
func (w *world) orderBecomes(p page, state redemption.OrderState) {
	w.t.Helper()
	var address string
	p.eval(`location.pathname`, &address)
	require.Eventually(w.t, func() bool {
		found, err := w.Service.Order(w.t.Context(), couponkit.OrderRequest{OrderID: path.Base(address), CustomerID: ann})
		return err == nil && found.Order.State == state
	}, 15*time.Second, 20*time.Millisecond)
}

// What was bought leaves the cart once, also when its order was closed before the payment
// was told. What was not paid stays.
func TestWhatWasBoughtLeavesTheCartWithoutItsOrder(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		for _, end := range []struct {
			button string
			state  redemption.OrderState
			left   string
		}{
			{"#expire", redemption.OrderCancelled, "€223.00"}, {"#pay", redemption.OrderPaid, "€99.00"}, {"#later", redemption.OrderAwaitingPayment, "€99.00"},
		} {
			p.fillCart(earbuds(), item{"accessory", "cable", 2})
			p.toPayment("124.00 EUR")
			var payment string
			p.eval(`location.pathname`, &payment)
			p.fillCart(item{"accessory", "earbuds", 2}, item{"accessory", "cable", 2})
			p.see("[data-total=total]", "€223.00") // it can still be paid
			p.visit(payment)
			p.must(p.Hold("/order/"))
			p.click(end.button)
			p.hold(`location.pathname.startsWith("/orders/")`)
			w.orderBecomes(p, end.state)
			p.eval(`sessionStorage.clear()`, nil) // as in another tab
			p.visit("/healthz")
			p.Release()
			for range 2 {
				p.visit("/cart")
				p.see("[data-total=total]", end.left)
			}
		}
	})
}

// An order that cannot be asked for does not keep the cart from being shown, and is asked
// for again.
func TestACartIsShownWithoutItsOrders(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds(), item{"accessory", "cable", 2})
		p.toPayment("124.00 EUR")
		p.must(p.Cut("/order/"))
		p.click("#pay")
		p.see("#state", "The order could not be loaded")
		w.orderBecomes(p, redemption.OrderPaid)
		p.visit("/cart")
		p.see("[data-total=total]", "€124.00")
		p.Release()
		p.visit("/cart")
		p.see("#state", "The cart is empty")
	})
}

// What another tab puts into the cart is shown before it is bought.
func TestTheCartFollowsOtherTabs(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		elsewhere := func(items string) {
			p.eval(fmt.Sprintf(`(() => {
				const other = document.body.appendChild(document.createElement("iframe"));
				other.contentWindow.localStorage.setItem("cart", %q);
			})()`, items), nil)
		}
		elsewhere(`[{"kind":"accessory","itemId":"earbuds","quantity":1},{"kind":"accessory","itemId":"sim-tool","quantity":2}]`)
		p.see("#cart-count", "3")
		p.visible("[data-item=sim-tool]")
		elsewhere(`[]`) // it was paid there
		p.see("#state", "The cart is empty")
		p.gone("#pay-now")
	})
}

// The answer to one deletion leaves the question about the next one alone.
func TestALateDeletionLeavesTheNextQuestionAlone(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.must(p.Hold("/admin/coupon/" + w.coupon("OLD").ID))
		p.click(rowOf("OLD") + " [data-action=delete]")
		p.click("#confirm-delete")
		p.press(kb.Escape)
		p.gone("#delete-dialog")
		p.click(rowOf("SOON") + " [data-action=delete]")
		p.see("#delete-text", "SOON (Not yet)")
		p.Release()
		p.see("#toasts", "OLD was deleted.")
		p.gone(rowOf("OLD"))
		p.click("#confirm-delete")
		p.see("#toasts", "SOON was deleted.")
		p.gone(rowOf("SOON"))
	})
}

// A deletion that has been answered leaves the focus with what somebody does by then.
func TestALateDeletionLeavesTheFocusWhereItIs(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, code := range []string{"OLD", "SOON"} {
			p.must(p.Hold("/admin/coupon/" + w.coupon(code).ID))
			p.click(rowOf(code) + " [data-action=delete]")
			p.click("#confirm-delete")
			p.press(kb.Escape)
			p.gone("#delete-dialog")
			gone := "#search" // whoever has stayed at the row goes on from the search
			if code == "SOON" {
				gone = "#page-size"
				p.eval(`document.querySelector("#page-size").focus()`, nil)
			}
			p.Release()
			p.gone(rowOf(code))
			p.focused(gone)
		}
	})
}

// An order is not shown any longer than the one who has placed it is signed in.
func TestAnOrderIsHiddenWhenTheSignInEnds(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		for _, end := range []struct {
			state string
			of    func()
		}{
			{"Sign in to see this order", func() { w.signedOutElsewhere(p) }},
			{"There is no such order", func() { w.becomes(p, ben) }},
		} {
			w.becomes(p, ann)
			p.fillCart(earbuds())
			p.toPayment("99.00 EUR")
			p.click("#later")
			p.orderIs("awaiting_payment")
			end.of()
			p.see("#state", end.state)
			p.gone("#order")
		}
	})
}

// Whoever tries again to create a coupon because no answer came is told that it may be there
// already, and finds it.
func TestACouponWhoseAnswerIsLostIsFound(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		answered := p.loseAnswers("POST")
		p.begin("LOST", "PERCENTAGE", "10")
		p.click("#save")
		p.see("#form-error", "The server cannot be reached.")
		answered()
		p.fill("#f-code", "SUMMER10")
		p.click("#save")
		p.fault("code", "A coupon with this code exists already.")
		p.hold(`!document.querySelector("[data-field=code] .field-error").innerText.includes("you have just made")`)
		p.fill("#f-code", "lost")
		p.click("#save")
		p.fault("code", "It may be the one that you have just made.")
		p.click("[data-field=code] .field-error a")
		p.firstRow("LOST")
		p.address("/admin/coupons?search=LOST")

		p.loseAnswers("POST")
		p.begin("CLOSED", "PERCENTAGE", "10")
		p.must(p.Hold("/admin/coupon"))
		p.click("#save")
		p.leave()
		p.gone("#coupon-dialog")
		p.Release()
		p.see("#toasts", "CLOSED may not have been saved.")
	})
}

// A cart or a plan that could not be priced can be asked for again.
func TestAPriceThatCouldNotBeHadIsAskedForAgain(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		for _, open := range []func(){func() { p.visit("/cart") }, func() {
			p.visit("/plans")
			p.click("[data-item=family] button")
		}} {
			p.must(p.Cut("/payment/quote"))
			open()
			p.see("#checkout", "The server cannot be reached.")
			p.Release()
			p.click("#checkout .note button")
			p.visible("#checkout [data-total=total]")
			p.gone("#checkout .note")
			p.hold(`!document.querySelector("#pay-now").disabled`)
		}
	})
}

// Customers who close the dialog while the payment is being prepared do not want to pay:
// they stay where they are, also when they look at something else by then.
func TestAClosedCheckoutLeadsToNoPayment(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		for _, flow := range []struct{ page, first, next string }{
			{"/plans", "[data-item=plus] button", "[data-item=family] button"},
			{"/accessories", "[data-item=watch] [data-action=buy]", "[data-item=earbuds] [data-action=buy]"},
		} {
			for _, reopened := range []bool{false, true} {
				p.visit(flow.page)
				p.eval(`{ const real = fetch; fetch = async (path, init) => {
					const answer = await real(path, init);
					if (path === "/payment/payment-link") setTimeout(() => document.body.dataset.prepared = answer.status, 50);
					return answer;
				} }`, nil)
				p.click(flow.first)
				p.visible("#checkout [data-total=total]")
				p.must(p.Hold("/payment/payment-link"))
				p.click("#pay-now")
				p.see("#pay-now", "One moment")
				p.click("#checkout-dialog [data-close]")
				p.gone("#checkout-dialog")
				if reopened {
					p.click(flow.next)
					p.visible("#checkout [data-total=total]")
				}
				p.Release()
				p.hold(`document.body.dataset.prepared === "201"`)
				p.hold(fmt.Sprintf(`location.pathname === %q`, flow.page))
			}
		}
		p.click("#pay-now") // of the one that is open
		p.see("#total", "EUR")
	})
}

// Whoever changes something while the payment is prepared sees what it costs then, and is not
// led to a payment of what it has cost.
func TestACheckoutThatIsChangedWhileItIsPrepared(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Hold("/payment/cart-checkout"))
		p.click("#pay-now")
		p.see("#pay-now", "One moment")
		p.click("input[name=shipping][value=express]")
		p.see("[data-total=total]", "€111.90")
		p.hold(`document.querySelector("#pay-now").disabled`)
		p.Release()
		p.see("#pay-now", "Continue to payment")
		p.hold(`!document.querySelector("#pay-now").disabled`)
		p.hold(`location.pathname === "/cart"`)
		p.click("#pay-now")
		p.see("#total", "111.90 EUR")
	})
}

// An address that is no text is that of no order.
func TestAnOrderOfAnyAddressIsLookedFor(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		for _, path := range []string{"/orders/%ff", "/orders/%25", "/orders/none%20here"} {
			p.visit(path)
			p.see("#state", "There is no such order")
		}
	})
}
