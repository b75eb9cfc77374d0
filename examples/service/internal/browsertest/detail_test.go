package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// detail is the page of a coupon.
func (w *world) detail(code string) string {
	w.t.Helper()
	return "/admin/coupons/" + w.coupon(code).ID
}

// Contract section 8: the redemptions of a coupon that was deleted are kept and shown. Of
// one that was never used, or never was, nothing is.
func TestTheRedemptionsOfADeletedCouponAreShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ann, "SUMMER10")
		used, unused := w.detail("SUMMER10"), w.detail("TENOFF")
		for _, code := range []string{"SUMMER10", "TENOFF"} {
			require.NoError(w.t, w.Service.Delete(w.t.Context(), w.coupon(code).ID))
		}
		p := w.as(ada)
		p.visit(used)
		p.see("h1", "Deleted coupon")
		p.see("#redemptions-count", "1 redemption")
		p.see("#redemptions-rows tr", "ann@example.org")
		p.hold(`document.querySelector("#chart svg").getAttribute("aria-label") === "1 use in 30 days"`)
		p.gone("#facts")
		p.gone("#state")
		for _, nothing := range []string{unused, "/admin/coupons/cpn_none"} {
			p.visit(nothing)
			p.see("#state", "The coupon could not be loaded")
			p.gone("#content")
		}
	})
}

// A coupon whose redemptions cannot be had says so, and tries again.
func TestRedemptionsThatCouldNotBeHadAreAskedForAgain(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.reserve(ann, "SUMMER10", 60)
		p := w.as(ada)
		call := "/admin/coupon/" + w.coupon("SUMMER10").ID + "/redemptions"
		p.must(p.Cut(call))
		p.visit(w.detail("SUMMER10"))
		p.see("#redemptions-failed", "The redemptions could not be loaded")
		p.see("#redemptions-failed", "The server cannot be reached.")
		p.visible("#facts")
		p.gone("#redemptions")
		p.Release()
		p.click("#redemptions-failed button")
		p.see("#redemptions-rows tr", "ann@example.org")
		p.gone("#redemptions-failed")

		p.must(p.Cut(call)) // what is shown stays
		p.click("#redemptions-more")
		p.see("#toasts", "The server cannot be reached.")
		p.visible("#redemptions")
		p.gone("#redemptions-failed")
		p.Release()
		p.click("#redemptions-more")
		p.hold(`document.querySelectorAll("#redemptions-rows tr").length === 60`)
	})
}

// A redemption tells what somebody may have to look at, and its instant in the zone of
// the service, wherever the administrator is.
func TestARedemptionTellsItsZoneAndItsMarks(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ada)
		p.must(p.Zone("Pacific/Auckland"))
		const entry = `{"id":"rsv","customerId":"usr","state":"reserved","origin":"checkout","createdAt":"2026-11-20T13:45:00Z","%s":true}`
		p.must(p.Answer("/admin/coupon/"+w.coupon("SUMMER10").ID+"/redemptions",
			fmt.Sprintf(`{"items":[`+entry+`,`+entry+`],"total":2}`, "awaitingPayment", "overLimit")))
		p.visit(w.detail("SUMMER10"))
		p.see("#redemptions-rows tr:first-child", "waiting payment")
		p.see("#redemptions-rows tr:last-child", "ver limit")
		p.hold(`!document.querySelector("#redemptions-rows tr:last-child").innerText.includes("waiting payment")`)
		p.see("#redemptions-rows tr:first-child td:last-child", "20 Nov 2026, 13:45 UTC")
		p.visit("/admin/coupons")
		p.click("#new-coupon")
		p.see("[data-field=expiresAt] .hint", "in UTC")
	})
}

// A coupon that customers cannot use yet does not look as if they could.
func TestTheStartOfACouponIsShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.changedElsewhere("SOON", `{"startsAt":"2099-03-01T00:00:00Z"}`)
		w.changedElsewhere("SUMMER10", `{"startsAt":"2020-03-01T00:00:00Z"}`)
		p := w.administer()
		p.must(p.Zone("America/Los_Angeles"))
		p.visit("/admin/coupons")
		p.see(rowOf("SOON"), "Starts 1 Mar 2099")
		p.hold(fmt.Sprintf(`!document.querySelector(%q).innerText.includes("Starts")`, rowOf("SUMMER10")))
		for code, start := range map[string]string{"SOON": "1 Mar 2099", "SUMMER10": "1 Mar 2020", "VIP15": "At once"} {
			p.visit(w.detail(code))
			p.hold(fmt.Sprintf(`[...document.querySelectorAll("#facts div")].some((each) => each.innerText.replace(/\s+/g, " ") === "Start %s")`, start))
		}
	})
}

// A coupon that the payment processor cannot express says so; other coupons do not.
func TestACouponWithoutAMirrorSaysSo(t *testing.T) {
	onOneStore(t, func(w *world) {
		_, err := w.Service.Create(w.t.Context(), coupon.Draft{
			Code: "CAPPED", Name: "Half off", DiscountType: pricing.Percentage, Percent: "50",
			MaxDiscount: coupon.Amounts{"": "7"},
		})
		require.NoError(w.t, err)
		p := w.as(ada)
		p.visit(w.detail("CAPPED"))
		p.see("#mirror-unsupported", "The payment processor cannot show this discount")
		p.visit(w.detail("SUMMER10"))
		p.see("#title", "SUMMER10")
		p.gone("#mirror-unsupported")
	})
}
