package coupontest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// setDiscount sets the discount of the draft, and sometimes a scope of bought items. It does not change
// the draft's currency.
func setDiscount(t *rapid.T, d *coupon.Draft, discount pricing.Discount) {
	currency := d.Currency
	*d = d.WithDiscount(discount)
	d.Currency = currency
	if discount.Type() == pricing.BuyXGetY && rapid.Bool().Draw(t, "buys") {
		buys := Scope().Draw(t, "bought").Draft()
		d.Buys = &buys
	}
}

// Group draws the name of a group. The names are few, so that two draws may be the same.
func Group() *rapid.Generator[string] {
	return rapid.Map(rapid.IntRange(1, 3), func(n int) string { return fmt.Sprintf("group-%d", n) })
}

// minimums draws minimum purchases with the given amount in the own currency. For an amount of 0, it
// returns no minimum or an explicit 0.
func minimums(t *rapid.T, own pricing.Money) coupon.Amounts {
	amounts := coupon.Amounts{"": own.Amount()}
	if own.Minor() > 0 && rapid.IntRange(0, 3).Draw(t, "further minimum purchases") == 0 {
		for _, other := range rapid.SliceOfNDistinct(pricingtest.Currency(), 1, 3, rapid.ID[pricing.Currency]).Draw(t, "currencies") {
			if other != own.Currency() {
				amounts[other.Code()] = other.Format(rapid.Int64Range(1, 10_000).Draw(t, "minimum"))
			}
		}
	}
	return amounts
}
