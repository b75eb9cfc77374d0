package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

func (p page) address(want string) {
	p.t.Helper()
	p.hold(fmt.Sprintf(`location.pathname + location.search === %q`, want))
}

func (p page) firstRow(code string) {
	p.t.Helper()
	p.hold(fmt.Sprintf(`document.querySelector("#rows tr")?.dataset.code === %q`, code))
}

// Specification 4.1 and the issue: search as one types, over name, code and
// description, with everything in the address.
func TestCouponsAreFoundWhileTyping(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, row := range []struct{ typed, code, count string }{
			{"summer", "SUMMER10", "1 coupon"},         // code
			{"gadget bonus", "GADGET25", "1 coupon"},   // name
			{"ann and ben", "VIP15", "1 coupon"},       // description
			{"family plan only", "FAMILY50", "1 coup"}, // description
		} {
			p.fill("#search", row.typed)
			p.see("#count", row.count)
			p.firstRow(row.code)
		}
		p.address("/admin/coupons?search=family+plan+only")
		p.visit("/admin/coupons?search=family+plan+only") // as a bookmark
		p.firstRow("FAMILY50")
		p.hold(`document.querySelector("#search").value === "family plan only"`)
		p.fill("#search", "100%")
		p.see("#state", "Nothing found")
		p.click("#state button")
		p.see("#count", "14 coupons")
		p.address("/admin/coupons")
	})
}

// Pages and sorting stand in the address, and Back goes back.
func TestTheTableIsSortedAndPaged(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.manyCoupons(12)
		p := w.administer()
		p.firstRow("BULK12") // newest first
		p.see("#page-label", "Page 1 of 2")
		p.click("#next")
		p.see("#page-label", "Page 2 of 2")
		p.address("/admin/coupons?page=2")
		p.eval("history.back()", nil)
		p.see("#page-label", "Page 1 of 2")
		p.firstRow("BULK12")

		p.click("th[data-sort=code] button")
		p.firstRow("BULK01")
		p.address("/admin/coupons?sort=code")
		p.click("th[data-sort=code] button")
		p.firstRow("VIP15")
		p.hold(`document.querySelector("th[data-sort=code]").getAttribute("aria-sort") === "descending"`)
		p.visit("/admin/coupons?search=bulk&sort=discount&order=desc&pageSize=10&page=2")
		p.firstRow("BULK02")
		p.see("#page-label", "Page 2 of 2")
		p.click("th[data-sort=discount] button") // back to newest first
		p.firstRow("BULK12")
		p.address("/admin/coupons?search=bulk&pageSize=10")

		p.visit("/admin/coupons?page=99") // behind the end
		p.see("#page-label", "Page 2 of 2")
	})
}

// Where the store stops counting, the table says that there are more, and every page
// is reached all the same. The last page knows how many there are.
func TestEveryPageOfManyIsReached(t *testing.T) {
	onOneStore(t, func(w *world) {
		const many = 1_005
		w.manyCoupons(many)
		p := w.administer()
		p.visit("/admin/coupons?search=bulk&pageSize=100&page=10")
		p.firstRow("BULK105")
		p.see("#count", "1,001+ coupons")
		p.click("#next")
		p.firstRow("BULK05")
		p.see("#page-label", "Page 11 of 11")
		p.see("#count", "1,005 coupons")
		p.hold(`document.querySelector("#next").disabled`)
		p.visit("/admin/coupons?pageSize=100&page=11")
		p.see("#count", "1,019 coupons")
		p.see("#page-label", "Page 11 of 11")
	})
}

// While the API has not answered, rows without text stand where the coupons will be,
// and assistive technology is told that the table is busy.
func TestTheTableShowsThatItIsLoading(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ada)
		p.must(p.Hold("/admin/coupon/all"))
		p.visit("/admin/coupons")
		p.hold(`document.querySelectorAll("#rows tr .skeleton").length > 0`)
		p.hold(`document.querySelector("#coupons").getAttribute("aria-busy") === "true"`)
		p.hold(`[...document.querySelectorAll("#rows tr")].every((row) => row.getAttribute("aria-hidden") === "true" && row.innerText.trim() === "")`)
		p.gone("#state")
		p.Release()
		p.visible("#rows tr[data-id]")
		p.hold(`document.querySelectorAll(".skeleton").length === 0`)
		p.hold(`document.querySelector("#coupons").getAttribute("aria-busy") === "false"`)

		p.must(p.Hold("/admin/coupon/all")) // what is there stays while the next answer is awaited
		p.fill("#search", "summer")
		p.hold(`document.querySelector("#coupons").getAttribute("aria-busy") === "true"`)
		p.hold(`document.querySelectorAll("#rows tr[data-id]").length === 14`)
		p.Release()
		p.firstRow("SUMMER10")
		p.hold(`document.querySelectorAll("#rows tr").length === 1`)
	})
}

// The table says what is the matter when the API fails, and tries again.
func TestAFailureOfTheListIsShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.must(p.Cut("/admin/coupon/all"))
		p.fill("#search", "summer")
		p.see("#state", "The coupons could not be loaded")
		p.see("#state", "The server cannot be reached.")
		p.hold(`document.querySelectorAll("#rows tr").length === 0`)
		p.Release()
		p.click("#state button")
		p.firstRow("SUMMER10")
		p.gone("#state")
	})
}

// Every page that shows something of the API shows that it waits for it, says when
// it cannot have it, and says so when there is nothing to show.
func TestEveryPageHasItsStates(t *testing.T) {
	onOneStore(t, func(w *world) {
		shopper, administrator := w.as(ann), w.as(ada)
		shopper.fillCart(earbuds())
		detail := "/admin/coupons/" + w.coupon("SUMMER10").ID
		for _, row := range []struct {
			p                   page
			path, call          string
			failure, shownAfter string
		}{
			{shopper, "/plans", "/catalog", "The plans could not be loaded", "[data-item=plus]"},
			{shopper, "/accessories", "/catalog", "The products could not be loaded", "[data-item=watch]"},
			{shopper, "/cart", "/catalog", "The cart could not be loaded", "#cart [data-total=total]"},
			{administrator, detail, "/admin/coupon/", "The coupon could not be loaded", "#facts"},
		} {
			row.p.must(row.p.Hold(row.call))
			row.p.visit(row.path)
			row.p.visible("main .skeleton")
			row.p.hold(`document.querySelector("main [aria-busy=true]") !== null`)
			row.p.Release()
			row.p.visible(row.shownAfter)
			row.p.gone("main .skeleton")
			row.p.hold(`document.querySelector("main [aria-busy=true]") === null`)

			row.p.must(row.p.Cut(row.call))
			row.p.visit(row.path)
			row.p.see("#state", row.failure)
			row.p.see("#state", "The server cannot be reached.")
			row.p.gone("main .skeleton")
			row.p.Release()
			row.p.click("#state button")
			row.p.visible(row.shownAfter)
			row.p.gone("#state")
		}
		administrator.see("#redemptions-empty", "No redemptions yet")
		shopper.eval("localStorage.clear()", nil)
		shopper.visit("/cart")
		shopper.see("#state", "The cart is empty")
		shopper.visit("/orders/ord_none")
		shopper.see("#state", "There is no such order")
	})
}

func TestTheFirstCouponIsAskedFor(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for {
			count, err := p.Count("#rows tr[data-id]")
			p.must(err)
			if count == 0 {
				break
			}
			p.click("#rows tr [data-action=delete]")
			p.click("#confirm-delete")
			p.hold(fmt.Sprintf(`document.querySelectorAll("#rows tr[data-id]").length === %d`, count-1))
		}
		p.see("#state", "No coupons yet")
		p.click("#state button")
		p.visible("#f-code")
	})
}

// Everything can be done without a mouse.
func TestTheKeyboardIsEnough(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.eval(`document.querySelector("#new-coupon").focus()`, nil)
		p.press(kb.Enter)
		p.hold(`document.activeElement.id === "f-code"`)
		p.press("keys10")
		p.hold(`document.activeElement.value === "KEYS10"`) // upper-cased while typing
		p.press(kb.Tab)
		p.hold(`document.activeElement.id === "generate"`)
		p.press(kb.Tab)
		p.hold(`document.activeElement.id === "f-without-code"`)
		p.press(kb.Tab)
		p.hold(`document.activeElement.id === "f-automatic"`)
		p.press(kb.Tab)
		p.press("By keyboard")
		p.press(kb.Tab)
		p.press(kb.Tab)
		p.hold(`document.activeElement.id === "f-value"`)
		p.press("10")
		p.press(kb.Enter)
		p.gone("#coupon-dialog")
		p.firstRow("KEYS10")

		p.eval(`document.querySelector('tr[data-code="KEYS10"] [data-action=toggle]').focus()`, nil)
		p.press(" ")
		p.hold(`document.activeElement.dataset.action === "toggle" && !document.activeElement.disabled && document.activeElement.getAttribute("aria-checked") === "false"`)
		p.press(kb.Tab)
		p.press(kb.Tab)
		p.press(kb.Enter)
		p.hold(`document.activeElement.id === "f-name"`)
		p.press(kb.Escape)
		p.gone("#coupon-dialog")
		p.hold(`document.activeElement.dataset.action === "edit"`) // where it came from
	})
}

// Back shows what was searched then, in the table and in the box.
func TestBackTakesTheSearchBack(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.manyCoupons(12)
		p := w.administer()
		p.click("#next")
		p.see("#page-label", "Page 2 of 2")
		p.fill("#search", "summer")
		p.see("#count", "1 coupon")
		p.eval("history.back()", nil)
		p.see("#count", "26 coupons")
		p.hold(`document.querySelector("#search").value === ""`)
		p.eval("history.forward()", nil)
		p.see("#count", "1 coupon")
		p.hold(`document.querySelector("#search").value === "summer"`)
	})
}

// Whether a coupon has expired, or has begun, is told by the service's clock.
func TestTheClockOfTheBrowserDecidesNothing(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "WINDOW", Name: "Now", DiscountType: pricing.Percentage, Percent: "10",
			StartsAt: calendar.On(2020, time.January, 1), ExpiresAt: calendar.On(2090, time.January, 1),
		})
		p := w.administer()
		for _, now := range []string{"2000-01-01", "2099-01-01"} {
			p.eval(fmt.Sprintf(`{
				const Right = window.Right ??= Date, wrong = Right.parse(%q);
				Date = class extends Right {
					constructor(...given) { super(...(given.length > 0 ? given : [wrong])); }
					static now() { return wrong; }
				};
			}`, now), nil)
			p.fill("#search", "window")
			p.see("#count", "1 coupon")
			p.hold(fmt.Sprintf(`document.querySelector(%q).innerText.includes("1 Jan 2090")`, rowOf("WINDOW")))
			p.hold(fmt.Sprintf(`!/Expired|Starts/.test(document.querySelector(%q).innerText)`, rowOf("WINDOW")))
			p.fill("#search", "")
			p.see("#count", "15 coupons")
		}
	})
}
