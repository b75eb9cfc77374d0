package browsertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
)

// The cart suggests the best coupon, which is used by a click, and tells what a little more would save.
func TestTheCartSuggestsCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stores[0], func(c *app.Config) { c.SuggestBest, c.SuggestNearly, c.Follow = true, true, 10*time.Millisecond })
	w.combinable()
	w.create(coupon.Draft{Code: "SUPER", Name: "Super", Group: "super", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "60"}})
	w.create(coupon.Draft{Code: "HUGE", Name: "Huge", Group: "huge", MinPurchase: coupon.Amounts{"": "107.01"}, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "90"}})
	require.NoError(t, w.Service.Delete(t.Context(), w.coupon("FREEBIE").ID)) // the best of the demo
	p := w.as(ann)
	for _, width := range []int64{1280, 390} {
		p.must(p.Resize(width, 800, 1))
		p.fillCart(earbuds())
		p.see("[data-offer=SUPER]", "Best coupon for you: SUPER saves €60.00.")
		p.see("[data-nearly=HUGE]", "€8.01 more and HUGE saves €90.00.")
		p.fits("a cart with suggestions")
		p.accessible("a cart with suggestions", allRules)
		p.click("[data-offer=SUPER] button")
		p.applied("SUPER", "€60.00", "€39.00")
		p.focused(chip("SUPER") + " button")
		p.gone("[data-offer=SUPER]")
		p.see("[data-nearly=HUGE]", "€8.01 more and HUGE saves €90.00.")
		p.see("[data-offer=WINTER]", "saves €8.00.") // beside SUPER
	}
	p.toPayment("39.00 EUR")
	none := newWorld(t, stores[0]).as(ann)
	none.fillCart(earbuds())
	none.see("[data-total=total]", "€99.00")
	none.gone("#offers li")
}
