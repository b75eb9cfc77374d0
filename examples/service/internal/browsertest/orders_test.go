package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// An administrator finds an order, sees what a refund of one unit gives back, and makes it. The
// processor refuses to return the money, and returns it when it is asked again. The customer's page
// says so.
func TestAUnitIsRefunded(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ann, "SUMMER10")
		found, err := w.Service.Orders(w.t.Context(), store.OrderList{State: redemption.OrderPaid})
		if err != nil {
			w.t.Fatal(err)
		}
		id := found.Items[0].Order.ID
		p := w.as(ada)
		p.must(p.Resize(360, 800, 1))
		p.visit("/admin/orders?state=paid")
		p.fits("the orders")
		p.accessible("the orders", allRules)
		p.click("#orders a[href$='" + id + "']")
		p.fill("#units0", "1")
		p.click("#show-refund")
		p.see("#preview-title", "This would be refunded")
		p.see("#order-state", "Paid")
		p.fits("the refund")
		p.accessible("the refund", allRules)
		w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse})
		p.click("#refund")
		p.see("#refunds", "1 ×")
		p.see("#order-state", "efunded")
		p.see("#refunds", "The money did not go back.")
		p.fits("the failed repayment")
		p.accessible("the failed repayment", allRules)
		p.click("[data-action=again]")
		p.see("#refunds", "The payment processor has returned the money.")
		p.gone("[data-action=again]")
		p = w.as(ann)
		p.visit("/orders/" + id)
		p.see("#order-state", "efunded")
		p.see("#refund-list", "It was returned to you.")
		p.visible("[data-total=refunded]")
		p.fits("the customer's order")
		p.accessible("the customer's order", allRules)
	})
}

// The page of a coupon shows its use over time as a picture and as a table, and what changed.
func TestTheHistoryOfACouponIsShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ann, "SUMMER10")
		w.changedElsewhere("SUMMER10", `{"name":"Late summer"}`)
		p := w.as(ada)
		for _, width := range []int64{1280, 360} {
			p.must(p.Resize(width, 800, 1))
			p.visit(w.detail("SUMMER10"))
			p.see("#title", "SUMMER10")
			p.see("#history", "Late summer")
			p.hold(`document.querySelector("#chart svg").getAttribute("aria-label") === "1 use in 30 days"`)
			p.hold(`document.querySelector("[data-chart=discount] svg").getAttribute("aria-label").startsWith("Discount of ")`)
			p.click(".figures summary")
			p.visible("#usage-table")
			p.hold(`document.querySelectorAll("#usage-table tbody tr").length === 30`)
			p.fits("the coupon")
			p.accessible("the coupon", allRules)
		}
	})
}

// The history of a coupon is in words. A coupon of which the processor has no copy does not say that it
// was copied.
func TestTheHistoryOfACouponIsInWords(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "WORDS", Name: "Words", DiscountType: pricing.Percentage, Percent: "50", MaxDiscount: coupon.Amounts{"": "7"},
			AppliesTo: coupon.Product, DeviceIDs: []string{"watch"}, ExpiresAt: calendar.On(2090, time.December, 31),
		})
		w.changedElsewhere("WORDS", `{"maxUsesPerUser":3,"budget":{"EUR":"1000"},"schedule":{"timeZone":"Europe/Berlin","hours":[{"day":"MONDAY","from":"09:00","until":"17:00"}]}}`)
		p := w.as(ada)
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.visit(w.detail("WORDS"))
			for _, words := range []string{
				"Created by", "Changed by", "Not copied to the payment processor, which cannot show this discount", "Discount type: Percentage", "Scope: Product", "Devices: watch",
				"Expiry: through 31 Dec 2090", "Max uses per customer: 1 3", "Budget: 1000.00", "day Monday", "Max discount: 7.00",
			} {
				p.see("#history", words)
			}
			p.hold(`!/[a-z][A-Z]|[{}"\[\]]|[A-Z]{4,}_|Copied/.test(document.querySelector("#history").innerText.replaceAll(/WORDS|pm_\S+|co_\S+|promo_\S+/g, ""))`)
			p.fits("the history of a coupon")
		}
	})
}

// On a phone, the chart of a coupon begins at its end, which is today. What is spent of a budget is shown.
func TestTheChartOfACouponOpensAtToday(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "SPEND", Name: "Spend", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"},
			Budget: coupon.NewAmounts(pricing.NewMoney(1000_00, pricing.EUR())),
		})
		w.buy(ann, "SPEND")
		p := w.as(ada)
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.visit(w.detail("SPEND"))
			p.see("#facts", "€5.00 of €1,000.00")
			p.see("#facts", "€995.00")
			p.hold(`!document.querySelector("#facts").innerText.includes("No limit")`)
			p.hold(`[...document.querySelectorAll(".chart")].every((chart) => {
				const last = [...chart.querySelectorAll("rect.bar-completed")].at(-1).getBoundingClientRect(), place = chart.getBoundingClientRect();
				return last.height > 0 && last.left >= place.left && last.right <= place.right;
			})`)
		}
	})
}

// The list of orders and the page of an order are whole on a phone: labels stand above long IDs, and no
// cell of the summary is a grey block. A state has one name.
func TestOrdersAreReadableOnAPhone(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ann, "SUMMER10")
		p := w.as(ada)
		for _, width := range []int64{390, 1280} {
			p.must(p.Resize(width, 800, 1))
			p.visit("/admin/orders")
			p.visible("#orders a")
			p.hold(`[...document.querySelectorAll("#orders td")].every((cell) => cell.scrollWidth <= cell.clientWidth && [...cell.children].every((each) => each.getBoundingClientRect().right <= cell.getBoundingClientRect().right + 1))`)
			p.hold(`innerWidth > 800 || [...document.querySelectorAll("#orders td[data-label] > *")].every((each) => each.getBoundingClientRect().top >= each.parentElement.getBoundingClientRect().top + 12)`)
			p.hold(`document.querySelector("#orders .badge").innerText === "Paid" && [...document.querySelectorAll("[name=state] option")].some((each) => each.text === "Paid")`)
			p.fits("the orders")
			p.click("#orders a[href^='/admin/orders/ord']")
			p.hold(`document.querySelector("#order-state")?.innerText === "Paid"`)
			p.hold(`getComputedStyle(document.querySelector(".facts")).backgroundColor === getComputedStyle(document.querySelector(".card")).backgroundColor`)
			p.fits("an order")
		}
	})
}

// The table tells budget and its rest, group and maximum units. A coupon with a budget has a limit.
func TestTheTableTellsTheTermsOfACoupon(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "TERMS", Name: "Terms", Group: "spring", DiscountType: pricing.FixedAmountPerUnit, Amount: coupon.Amounts{"": "5"}, MaxUnits: 4,
			Budget: coupon.NewAmounts(pricing.NewMoney(1000_00, pricing.EUR()), pricing.NewMoney(20_00, pricing.USD())),
		})
		w.buy(ann, "TERMS")
		p := w.administer()
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			for _, words := range []string{"Group spring", "€5.00 off each unit, at most 4 units", "Budget €1,000.00, €995.00 left", "Budget $20.00, $20.00 left"} {
				p.see(rowOf("TERMS"), words)
			}
			p.hold(fmt.Sprintf(`!document.querySelector(%q).innerText.includes("no limit") && document.querySelector(%q).innerText.includes("no limit")`, rowOf("TERMS"), rowOf("TENOFF")))
			p.fits("the table")
		}
	})
}

// A coupon in several currencies is shown with the amounts of each.
func TestThePanelShowsEachCurrency(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "TWO", Name: "Two", DiscountType: pricing.FixedAmountPerUnit, Currency: "EUR",
			Amount:      coupon.Amounts{"EUR": "5", "USD": "6"},
			MaxDiscount: coupon.Amounts{"EUR": "50", "USD": "60"}, MinPurchase: coupon.Amounts{"EUR": "70", "USD": "80"},
		})
		p := w.administer()
		const words = "€5.00 or $6.00 off each unit, at most €50.00 or $60.00"
		p.see(rowOf("TWO"), words)
		p.fits("the table")
		p.visit(w.detail("TWO"))
		p.see("#facts", words)
		p.see("#facts", "€70.00 or $80.00")
		p.fits("a coupon")
	})
}

// The filters are folded until somebody wants one. They stay open while one is set.
func TestFiltersAreFolded(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.visit("/admin/coupons")
			p.visible(rowOf("SUMMER10"))
			p.gone("#filter-type")
			p.click("#filters summary")
			p.visible("#filter-type")
			p.choose("#filter-type", "FIXED_AMOUNT")
			p.visible(rowOf("TENOFF"))
			p.visit("/admin/coupons?type=FIXED_AMOUNT")
			p.visible("#filter-type")
			p.see("#filters summary", "Filters (1)")
			p.fits("the filters")
		}
	})
}

// A tab lists what can be used now, with its count.
func TestWhatCanBeUsedNowIsATab(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			p.visit("/admin/coupons")
			p.hold(`document.querySelector("#usable-count").innerText === "11"`) // all but OLD, PAUSED and SOON
			p.click("#tab-usable")
			p.see("#count", "11 coupons")
			p.address("/admin/coupons?usable=true")
			p.gone(rowOf("OLD") + ", " + rowOf("PAUSED") + ", " + rowOf("SOON"))
			p.hold(`document.querySelector("#tab-usable").getAttribute("aria-pressed") === "true"`)
			p.fits("what can be used now")
			p.accessible("what can be used now", allRules)
			p.click("#tab-all")
			p.see("#count", "14 coupons")
		}
		p.click(rowOf("TENOFF") + " [data-action=toggle]")
		p.hold(`document.querySelector("#usable-count").innerText === "10"`)
	})
}

// Days are those of the shop: what is entered, shown and found as the last day is one day.
func TestDaysAreThoseOfTheShop(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/Los_Angeles", "Pacific/Auckland"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		w := newWorld(t, stores[0], func(c *app.Config) { c.Location = zone })
		p := w.administer()
		p.begin("LASTDAY", "PERCENTAGE", "10")
		p.entered(map[string]string{"startsAt": "2031-02-01", "expiresAt": "2031-12-31"})
		p.see("#f-expires-hint", "in "+name)
		p.finish("LASTDAY")
		require.Equal(t, time.Date(2032, 1, 1, 0, 0, 0, 0, zone).UTC(), w.coupon("LASTDAY").ExpiresAt.UTC())
		for day, found := range map[string]bool{"2031-12-31": true, "2032-01-01": false, "2031-12-30": false} {
			p.visit("/admin/coupons?expiresFrom=" + day + "&expiresUntil=" + day)
			if !found {
				p.see("#state", "Nothing found")
				continue
			}
			p.see(rowOf("LASTDAY"), "31 Dec 2031")
			p.see(rowOf("LASTDAY"), "Starts 1 Feb 2031")
		}
		p.visit(w.detail("LASTDAY"))
		p.see("#facts", "31 Dec 2031")
		p.see("#history", "through 31 Dec 2031")
		p.visit("/admin/coupons?search=lastday")
		p.click(rowOf("LASTDAY") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-expires").value === "2031-12-31" && document.querySelector("#f-starts").value === "2031-02-01"`)
		p.fill("#f-name", "Renamed")
		p.finish("LASTDAY")
		require.Equal(t, time.Date(2032, 1, 1, 0, 0, 0, 0, zone).UTC(), w.coupon("LASTDAY").ExpiresAt.UTC())
	}
}

// The table of coupons is narrowed, and its address says so.
func TestCouponsAreNarrowed(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ada)
		p.visit("/admin/coupons?usedUp=true")
		p.see("#state", "No coupon is as you asked")
		p.click("#state button")
		p.visible(rowOf("SUMMER10"))
		p.choose("#filter-type", "FIXED_AMOUNT")
		p.address("/admin/coupons?type=FIXED_AMOUNT")
		p.visible(rowOf("TENOFF"))
		p.gone(rowOf("SUMMER10"))
	})
}

// An order is ending while its payment page may still be created. Its page asks again until the order is
// cancelled, and offers no payment meanwhile.
func TestAnOrderThatIsEnding(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("LASTONE")
		p.visible("#remove-coupon")
		lost := w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore, Times: -1})
		p.click("#pay-now")
		require.Eventually(w.t, func() bool { return lost.Fired() > 0 }, 15*time.Second, 20*time.Millisecond)
		found, err := w.Service.Orders(w.t.Context(), store.OrderList{CustomerID: ann})
		require.NoError(w.t, err)
		require.Len(w.t, found.Items, 1)
		id := found.Items[0].Order.ID
		p.visit("/orders/" + id)
		p.orderIs("open")
		p.click("#cancel")
		p.orderIs("ending")
		p.see("#order-state h2", "Being cancelled")
		p.gone("#resume")
		p.gone("#cancel")
		w.expectUses("LASTONE", uses{Reserved: 1})
		for due, err := range w.Service.Due(w.t.Context(), couponkit.DueOptions{OrderID: id}) {
			require.NoError(w.t, err)
			due.BegunBy = time.Now() // as if the processor was asked minutes later
			_, err = w.Service.Record(w.t.Context(), due.Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
			require.NoError(w.t, err)
		}
		p.orderIs("cancelled")
		w.expectUses("LASTONE", uses{})
	})
}
