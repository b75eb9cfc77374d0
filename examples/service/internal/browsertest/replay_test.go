package browsertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// A coupon that is switched off is tried on the last orders, at the width of a desk and of a phone.
func TestACouponIsTriedBeforeItIsSwitchedOn(t *testing.T) {
	onOneStore(t, func(w *world) {
		draft := w.create(coupon.Draft{Code: "DRAFT", Name: "Draft", DiscountType: pricing.Percentage, Percent: "50"})
		_, err := w.Service.SetActive(w.t.Context(), draft.ID, false)
		require.NoError(w.t, err)
		p := w.as(ada)
		p.visit(w.detail("DRAFT"))
		p.gone("#loading") // until then, lists above the button move it
		p.gone("#replay-result")
		p.click("#replay-run")
		p.see("#replay-summary", "There is no paid order yet.")
		p.gone("#replay-chart")

		w.buy(ann, "SUMMER10")
		call := "/admin/coupon/" + draft.ID + "/replay"
		p.must(p.Cut(call))
		p.click("#replay-run")
		p.see("#replay-failed", "The orders could not be tried")
		p.gone("#replay-result")
		p.Release()
		p.click("#replay-failed button")
		p.see("#replay-summary", "1 paid order from")
		p.gone("#replay-failed")
		for _, width := range []int64{1280, 360} {
			p.must(p.Resize(width, 800, 1))
			p.visible("#replay-chart svg")
			p.hold(`document.querySelector("#replay-chart svg desc").textContent.includes("EUR: 1 carts would cost less")`)
			p.see("#replay-facts", "Orders that cost less")
			p.accessible("a replay", allRules)
			p.fits("a replay")
		}
		require.False(w.t, w.coupon("DRAFT").Active(), "it is still switched off")
	})
}
