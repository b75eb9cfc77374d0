package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

func earbuds() item { return item{"accessory", "earbuds", 1} }

// buy lets a customer buy the earbuds with a coupon.
func (w *world) buy(userID, code string) {
	w.t.Helper()
	p := w.as(userID)
	p.fillCart(earbuds())
	p.apply(code)
	p.see("#coupon-name", code)
	p.visible("[data-total=discount]")
	p.click("#pay-now")
	p.pay()
}

func (w *world) create(d coupon.Draft) coupon.Coupon {
	w.t.Helper()
	c, err := w.Service.Create(w.t.Context(), d)
	require.NoError(w.t, err)
	return c
}

// Specification 7 and contract 6: every reason that a coupon can be refused for
// appears in the coupon box with the API's message, and nothing is taken off.
func TestEachReasonForARefusalIsShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ben, "LASTONE")
		w.buy(ann, "GADGET25")
		stale := w.create(coupon.Draft{Code: "STALE", Name: "Changed at the processor", DiscountType: pricing.Percentage, Percent: "5"})
		require.NoError(w.t, w.Simulator.Fake().TamperDeactivate(stale.Mirror))
		w.create(coupon.Draft{Code: "DOLLARS", Name: "In dollars", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"}, Currency: "USD"})

		p, cable := w.as(ann), item{"accessory", "cable", 1}
		for _, row := range []struct {
			section7 string
			code     string
			cart     item
			reason   string
			message  string
		}{
			{"1", "", earbuds(), "code_required", "Enter a coupon code."},
			{"1", "NOSUCHCODE", earbuds(), "coupon_not_found", "This coupon code does not exist."},
			{"2", "PAUSED", earbuds(), "coupon_not_found", "This coupon code does not exist."},
			{"2", "OLD", earbuds(), "coupon_expired", "This coupon has expired. It was valid "},
			{"contract", "SOON", earbuds(), "coupon_not_started", "This coupon can be used from "},
			{"3", "STALE", earbuds(), "processor_out_of_sync", "This coupon cannot be used for payment at the moment."},
			{"4", "LASTONE", earbuds(), "usage_limit_reached", "This coupon has been used up."},
			{"4", "GADGET25", earbuds(), "user_usage_limit_reached", "You have used this coupon as often as it allows."},
			{"5", "TENOFF", cable, "minimum_purchase_not_met", "The minimum purchase for this coupon is not met. €37.50 is missing."},
			{"7", "POINTS25", earbuds(), "points_not_redeemed", "Exchange 500 points for this coupon first."},
			{"8", "SELECTED", cable, "no_eligible_items", "Nothing in the cart is covered by this coupon."},
			{"contract", "FAMILY50", cable, "no_eligible_items", "Nothing in the cart is covered by this coupon."},
			{"contract", "SUMMER10", item{"accessory", "sim-tool", 1}, "no_discount", "This coupon takes nothing off this cart."},
			{"contract", "DOLLARS", earbuds(), "currency_mismatch", "This coupon is for another currency."},
		} {
			p.fillCart(row.cart)
			p.apply(row.code)
			p.see(fmt.Sprintf("#coupon-message [data-code=%s]", row.reason), row.message)
			if count, err := p.Count("[data-total=discount]"); err != nil || count != 0 {
				w.t.Errorf("section 7, no. %s: %s is refused and takes something off (%v)", row.section7, row.code, err)
			}
		}
		w.expectUses("GADGET25", uses{Used: 1, Completed: 1})
	})
}

// Section 7, no. 6, and contract 4.8.
func TestACouponOfSomebodyElseIsRefused(t *testing.T) {
	onOneStore(t, func(w *world) {
		for _, row := range []struct {
			p               page
			reason, message string
		}{
			{w.as(cleo), "coupon_not_found", "This coupon code does not exist."},
			{w.visitor(), "user_required", "Sign in first."},
		} {
			row.p.fillCart(earbuds())
			row.p.apply("VIP15")
			row.p.see(fmt.Sprintf("#coupon-message [data-code=%s]", row.reason), row.message)
		}
		p := w.as(ben) // who is listed
		p.fillCart(earbuds())
		p.apply("VIP15")
		p.applied("VIP15", "€15.00", "€84.00")
	})
}

// Section 7, no. 7: without enough points there is no exchange either.
func TestTooFewPointsAreNotExchanged(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ben)
		p.fillCart(earbuds())
		p.apply("POINTS25")
		p.click("#exchange-points")
		p.see("#coupon-message", "You do not have enough points for this coupon.")
		p.see("#account-points", "250 points")
		w.expectUses("POINTS25", uses{})
	})
}

// Section 7, no. 10: the coupon changes between the quote and the checkout, so the
// customer would pay something else than the shown total. The new totals are shown first.
func TestTotalsThatHaveChangedAreShownBeforePaying(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds(), item{"accessory", "cable", 2})
		p.apply("SUMMER10")
		p.applied("SUMMER10", "€12.40", "€111.60")

		var patch coupon.Patch
		require.NoError(w.t, patch.UnmarshalJSON([]byte(`{"appliesTo":"SPECIFIC","accessoryIds":["earbuds"]}`)))
		_, err := w.Service.Update(w.t.Context(), w.coupon("SUMMER10").ID, patch)
		require.NoError(w.t, err)

		p.click("#pay-now")
		p.visible("[data-code=cart_totals_invalid]")
		p.applied("SUMMER10", "€9.90", "€114.10")
		w.expectUses("SUMMER10", uses{})
		p.toPayment("114.10 EUR")
		p.pay()
	})
}

// A coupon that stops working between the quote and the checkout.
func TestARefusalAtTheCheckoutIsShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.apply("SUMMER10")
		p.applied("SUMMER10", "€9.90", "€89.10")
		_, err := w.Service.SetActive(w.t.Context(), w.coupon("SUMMER10").ID, false)
		require.NoError(w.t, err)
		p.click("#pay-now")
		p.see("#coupon-message [data-code=coupon_not_found]", "This coupon code does not exist.")
		p.see(".coupon-applied", "Not applied")
		p.see("[data-total=total]", "€99.00")
		p.gone("[data-total=discount]")
		p.hold(`document.querySelector("#pay-now").disabled`)
		p.click("#remove-coupon")
		p.toPayment("99.00 EUR")
	})
}

// A code that is refused is the only one that counts: not one before it, whose price
// never came.
func TestARefusedCodeLeavesNoneApplied(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Cut("/payment/quote"))
		p.apply("SUMMER10")
		p.see("#checkout", "The server cannot be reached.")
		p.Release()
		p.apply("NOSUCHCODE")
		p.see("[data-total=total]", "€99.00")
		p.see("#coupon-message [data-code=coupon_not_found]", "This coupon code does not exist.")
		p.click("input[name=shipping][value=express]")
		p.see("[data-total=total]", "€111.90")
		p.gone("[data-total=discount]")
		p.gone("#coupon-name")
	})
}

// Contract 6: the processor does not charge so little.
func TestATotalBelowTheMinimumChargeIsRefused(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{Code: "NEARLY", Name: "Nearly free", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "12.20"}})
		p := w.as(ann)
		p.fillCart(item{"accessory", "cable", 1})
		p.apply("NEARLY")
		p.visible("[data-total=discount]")
		if count, _ := p.Count("[data-code=below_minimum_charge]"); count == 0 {
			p.click("#pay-now")
		}
		p.visible("[data-code=below_minimum_charge]")
		w.expectUses("NEARLY", uses{})
	})
}

// What a price without a coupon is refused for is said of that price alone.
func TestARefusedPriceIsForgottenWithIt(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		p.must(p.Answer("/payment/quote", `{"quote":{"currency":"EUR","subtotal":"0.30","discount":"0.00","shipping":"0.00","total":"0.30","lines":[]},
			"coupon":null,"rejections":[{"code":"below_minimum_charge","message":"The total is below the least amount that can be charged.","params":{}}]}`))
		p.click("input[name=shipping][value=express]")
		p.see("#coupon-message [data-code=below_minimum_charge]", "below the least amount")
		p.Release()
		p.click("input[name=shipping][value=pickup]")
		p.see("[data-total=total]", "€99.00")
		p.hold(`document.querySelector("#coupon-message").childElementCount === 0 && !document.querySelector("#coupon-code").hasAttribute("aria-invalid")`)
	})
}

// Browsers take . and .. in an address for directories. Typed as codes they are unknown
// codes, and no coupon is made of them.
func TestACodeOfDotsIsLookedUpAsACode(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ann)
		p.fillCart(earbuds())
		for _, code := range []string{".", "..", "../.."} {
			p.apply(code)
			p.see("#coupon-message [data-code=coupon_not_found]", "This coupon code does not exist.")
		}
		p = w.administer()
		p.begin("..", "PERCENTAGE", "10")
		p.click("#save")
		p.fault("code", "do not work in a URL path")
	})
}
