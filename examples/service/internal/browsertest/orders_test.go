package browsertest_test

import (
	"testing"

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
		p.see("#order-state", "paid")
		p.fits("the refund")
		p.accessible("the refund", allRules)
		w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse})
		p.click("#refund")
		p.see("#refunds", "1 ×")
		p.see("#order-state", "refunded")
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
