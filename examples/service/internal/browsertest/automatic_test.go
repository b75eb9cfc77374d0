package browsertest_test

import (
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
)

// An administrator makes a coupon that needs no code. The cart has it, unless a code is better.
func TestAnAutomaticCouponIsMadeAndUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stores[0], func(c *app.Config) { c.Follow = 10 * time.Millisecond })
	w.create(coupon.Draft{Code: "LESS", Name: "Less", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"}})
	w.create(coupon.Draft{Code: "MORE", Name: "More", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "30"}})
	admin := w.administer()
	admin.click("#new-coupon")
	admin.fill("#f-name", "Welcome back")
	admin.click(radio("discountType", "FIXED_AMOUNT"))
	admin.fill("#f-value", "20")
	admin.hold(`document.querySelector("#f-max-per-user").value === "1"`)
	admin.click("#f-automatic")
	admin.hold(`document.querySelector("#f-max-per-user").value === ""`) // customers get it again and again
	admin.accessible("the form of an automatic coupon", allRules)
	admin.click("#save")
	admin.gone("#coupon-dialog")
	admin.see("#rows tr[data-id] .cell-code", "Automatic")
	admin.click("#rows tr[data-id] .cell-code a")
	admin.see("#subtitle", "Carts get it without a code")

	p := w.as(ann)
	for _, width := range []int64{1280, 390} {
		p.must(p.Resize(width, 800, 1))
		p.fillCart(earbuds())
		p.see("[data-total='welcome back']", "−€20.00")
		p.see("[data-total=total]", "€79.00")
		p.fits("a cart with an automatic coupon")
		p.accessible("a cart with an automatic coupon", allRules)
		p.apply("LESS")
		p.see("#coupon-message [data-code=not_combinable]", "LESS cannot be used together with Welcome back. With it you would save €5.00 instead of €20.00.")
		p.see("[data-total=total]", "€79.00")
		p.apply("MORE")
		p.see("[data-total=total]", "€69.00")
		p.gone("[data-total='welcome back']")
		p.click("#remove-coupon")
		p.see("[data-total=total]", "€79.00")
	}
	p.toPayment("79.00 EUR")
	p.pay()
	p.see("[data-total=coupon]", "Welcome back")
}
