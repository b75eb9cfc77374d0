package coupon

import (
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// maximum returns the maximum purchases of a draft or a patch. Unlike a minimum, a maximum of 0 is
// refused.
func (a Amounts) maximum(own pricing.Currency, faults *validation.Error) MoneySet {
	return NewMoneySet(a.money("maxPurchase", own, 1, MaxMinPurchase, faults)...)
}

// Maximum returns the maximum purchase for a cart in the given currency, in minor units. A maximum of 0
// means that there is none. ok is false if the coupon has a maximum purchase, but none in that currency.
func (t *Terms) Maximum(cart pricing.Currency) (minor int64, ok bool) {
	if t.Conditions.MaxPurchase.IsZero() {
		return 0, true
	}
	return t.Conditions.MaxPurchase.In(cart)
}
