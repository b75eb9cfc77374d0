package pricingtest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
)

// Discount draws a discount of any type, in any lane that the type can have, and often with further
// terms: a maximum, a limit of units, further currencies, tiers. If a discount has amounts, one of
// them is in the given currency. About a third of the discounts are those of [SimpleDiscount]. The
// zero discount is never drawn.
func Discount(c pricing.Currency) *rapid.Generator[pricing.Discount] {
	return DiscountFor(pricing.Cart{Currency: c})
}

// DiscountFor draws a discount that fits the cart. It behaves like [Discount], except that amounts
// in the cart's currency are multiples of the cart's step.
func DiscountFor(cart pricing.Cart) *rapid.Generator[pricing.Discount] {
	return rapid.OneOf(SimpleDiscountFor(cart), discountOf(cart), discountOf(cart))
}

// discountOf draws a discount of any type, mostly with optional terms.
func discountOf(cart pricing.Cart) *rapid.Generator[pricing.Discount] {
	return rapid.Custom(func(t *rapid.T) pricing.Discount {
		terms := pricing.DiscountTerms{
			Type: rapid.SampledFrom([]pricing.DiscountType{
				pricing.Percentage, pricing.FixedAmount, pricing.FixedAmountPerUnit, pricing.FixedUnitPrice,
				pricing.CheapestUnits, pricing.BuyXGetY, pricing.Tiered,
			}).Draw(t, "type"),
			Currency: cart.Currency,
		}
		switch {
		case terms.Type.HasPercent():
			terms.Percent = Percent().Draw(t, "percent")
		case terms.Type.HasAmount():
			terms.Amount = amountOf(t, cart.Step)
		}
		drawUnits(t, &terms)
		if terms.Type == pricing.Tiered {
			drawTiers(t, &terms, cart.Step)
		}
		if rapid.Bool().Draw(t, "maximum") {
			terms.MaxDiscount = amountOf(t, 1) // the cap need not be a multiple of the step
		}
		if terms.Type != pricing.Tiered && (terms.Type.HasAmount() || terms.MaxDiscount > 0) {
			drawCurrencies(t, &terms, cart.Step)
		}
		d, err := pricing.NewDiscount(terms)
		if err != nil {
			t.Fatalf("drew impossible terms %+v: %v", terms, err)
		}
		return d
	})
}

// drawUnits draws the terms that count units, and the lane.
func drawUnits(t *rapid.T, terms *pricing.DiscountTerms) {
	units := rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, 12), rapid.Int64Range(1, pricing.MaxDiscountUnits))
	some := func(what string) bool { return rapid.Bool().Draw(t, what) }
	switch terms.Type {
	case pricing.Percentage, pricing.FixedAmount, pricing.FixedAmountPerUnit, pricing.FixedUnitPrice:
		if some("limit of units") {
			terms.MaxUnits = units.Draw(t, "max units")
		}
	case pricing.CheapestUnits:
		terms.Units = units.Draw(t, "units")
	case pricing.BuyXGetY:
		terms.BuyQuantity, terms.GetQuantity = units.Draw(t, "buy"), units.Draw(t, "get")
		if some("limit of applications") {
			terms.MaxApplications = units.Draw(t, "max applications")
		}
	case pricing.Tiered:
	}
	if terms.Type == pricing.Percentage && some("item lane") {
		terms.Lane = pricing.ItemLane
	}
}

// drawTiers draws one to four tiers. A first tier from 0 covers every purchase.
func drawTiers(t *rapid.T, terms *pricing.DiscountTerms, step int64) {
	terms.TierBasis = rapid.SampledFrom([]pricing.TierBasis{pricing.ByAmount, pricing.ByQuantity}).Draw(t, "basis")
	bound := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 50_000))
	bounds := rapid.SliceOfNDistinct(bound, 1, 4, rapid.ID[int64]).Draw(t, "bounds")
	slices.Sort(bounds)
	for _, from := range bounds {
		tier := pricing.Tier{From: from}
		if rapid.Bool().Draw(t, "tier of a percentage") {
			tier.Percent = Percent().Draw(t, "percent")
		} else {
			tier.Amount = amountOf(t, step)
		}
		terms.Tiers = append(terms.Tiers, tier)
	}
}

// drawCurrencies draws up to three amounts in other currencies. The cart's currency may be among them.
func drawCurrencies(t *rapid.T, terms *pricing.DiscountTerms, step int64) {
	others := rapid.SliceOfNDistinct(Currency(), 0, 3, rapid.ID[pricing.Currency]).Draw(t, "other currencies")
	for _, c := range others {
		if c == terms.Currency {
			continue
		}
		other := pricing.CurrencyTerms{Currency: c}
		if terms.Type.HasAmount() {
			other.Amount = amountOf(t, step)
		}
		if terms.MaxDiscount > 0 {
			other.MaxDiscount = amountOf(t, 1)
		}
		terms.Others = append(terms.Others, other)
	}
	if len(terms.Others) > 0 && rapid.Bool().Draw(t, "the cart's currency is another one") {
		own, other := pricing.CurrencyTerms{Currency: terms.Currency, Amount: terms.Amount, MaxDiscount: terms.MaxDiscount}, terms.Others[0]
		terms.Currency, terms.Amount, terms.MaxDiscount, terms.Others[0] = other.Currency, other.Amount, other.MaxDiscount, own
	}
}
