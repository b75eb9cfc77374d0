package coupontest

import (
	"fmt"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// WithDiscount returns the draft with another discount, such as one of
// [pricingtest.SimpleDiscount]. The draft gets the currency of the discount's amounts. Minimum
// purchases and budgets of the draft stay as they are; a budget below the maximum of the discount
// is invalid.
func WithDiscount(d coupon.Draft, discount pricing.Discount) coupon.Draft {
	terms := discount.Terms()
	d.DiscountType, d.DiscountValue, d.DiscountDraft = terms.Type, decimal.Decimal{}, coupon.DiscountDraft{
		MaxUnits: terms.MaxUnits, Units: terms.Units, BuyQuantity: terms.BuyQuantity, GetQuantity: terms.GetQuantity,
		MaxApplications: terms.MaxApplications, TierBasis: terms.TierBasis,
	}
	switch {
	case terms.Type.HasPercent():
		d.DiscountValue = terms.Percent.Decimal()
	case terms.Type.HasAmount():
		d.DiscountValue = pricing.NewMoney(terms.Amount, terms.Currency).Decimal()
	}
	if terms.Lane != terms.Type.DefaultLane() {
		d.Lane = terms.Lane
	}
	if currencies := discount.Currencies(); len(currencies) > 0 {
		d.Currency = currencies[0].Code()
	}
	if terms.MaxDiscount > 0 {
		d.MaxDiscount = pricing.NewMoney(terms.MaxDiscount, terms.Currency).Decimal()
	}
	var values, maximums []pricing.Money
	for _, o := range terms.Others {
		if o.Amount > 0 {
			values = append(values, pricing.NewMoney(o.Amount, o.Currency))
		}
		if o.MaxDiscount > 0 {
			maximums = append(maximums, pricing.NewMoney(o.MaxDiscount, o.Currency))
		}
	}
	d.DiscountValues, d.MaxDiscounts = coupon.NewAmounts(values...), coupon.NewAmounts(maximums...)
	for _, tier := range terms.Tiers {
		d.Tiers = append(d.Tiers, tierDraft(tier, terms))
	}
	return d
}

func tierDraft(tier pricing.Tier, terms pricing.DiscountTerms) coupon.TierDraft {
	draft := coupon.TierDraft{From: decimal.NewFromInt(tier.From)}
	if terms.TierBasis == pricing.ByAmount {
		draft.From = pricing.NewMoney(tier.From, terms.Currency).Decimal()
	}
	if tier.Amount > 0 {
		draft.Amount = pricing.NewMoney(tier.Amount, terms.Currency).Decimal()
	} else {
		draft.Percent = tier.Percent.Decimal()
	}
	return draft
}

// setDiscount gives the draft a discount, and at times a scope of what is bought. The currency of
// the draft stays as it is.
func setDiscount(t *rapid.T, d *coupon.Draft, discount pricing.Discount) {
	currency := d.Currency
	*d = WithDiscount(*d, discount)
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

// minimums draws minimum purchases in further currencies, at times, of a coupon with a minimum.
func minimums(t *rapid.T, c pricing.Currency, own decimal.Decimal) coupon.Amounts {
	var amounts []pricing.Money
	if own.IsPositive() && rapid.IntRange(0, 3).Draw(t, "further minimum purchases") == 0 {
		for _, other := range rapid.SliceOfNDistinct(pricingtest.Currency(), 1, 3, rapid.ID[pricing.Currency]).Draw(t, "currencies") {
			if other != c {
				amounts = append(amounts, pricing.NewMoney(rapid.Int64Range(1, 10_000).Draw(t, "minimum"), other))
			}
		}
	}
	return coupon.NewAmounts(amounts...)
}
