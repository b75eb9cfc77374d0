package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// hasMoney reports whether any of the terms is an amount of money.
func (t *DiscountTerms) hasMoney() bool {
	if t.Type.HasAmount() || t.MaxDiscount != 0 || len(t.Others) > 0 || t.TierBasis == ByAmount {
		return true
	}
	for _, tier := range t.Tiers {
		if tier.Amount != 0 {
			return true
		}
	}
	return false
}

func (t *DiscountTerms) validate() error {
	var faults validation.Error
	switch {
	case t.Type == 0:
		faults.Add("discountType", validation.Required, discountTypeMessage)
		return faults.Err() // the other checks depend on the type
	case t.Type > Tiered:
		faults.Add("discountType", validation.Unknown, discountTypeMessage)
		return faults.Err()
	}
	if t.Lane > OrderLane {
		faults.Add("lane", validation.Unknown, "must be item or order")
	} else if !t.Type.allows(t.Lane) {
		faults.Add("lane", validation.NotAllowed, fmt.Sprintf("a discount of type %s is in the lane %s", t.Type, t.Type.DefaultLane()))
	}
	t.valueFaults(&faults)
	t.moneyFaults(&faults)
	t.unitFaults(&faults)
	t.tierFaults(&faults)
	return faults.Err()
}

func (t *DiscountTerms) valueFaults(faults *validation.Error) {
	switch {
	case t.Type.HasPercent() && t.Percent.IsZero():
		faults.Add("discountValue", validation.Required, "a percentage is required")
	case !t.Type.HasPercent() && !t.Percent.IsZero():
		faults.Add("discountValue", validation.NotAllowed, fmt.Sprintf("a discount of type %s has no percentage", t.Type))
	}
}

func (t *DiscountTerms) moneyFaults(faults *validation.Error) {
	if t.hasMoney() && t.Currency.IsZero() {
		faults.Add("currency", validation.Required, "an amount needs a currency")
	}
	t.amountFaults("discountValue", "maxDiscount", t.Amount, t.MaxDiscount, faults)
	if len(t.Others) >= MaxCurrencies {
		faults.Add("discountValue", validation.TooLong, fmt.Sprintf("at most %d currencies are allowed", MaxCurrencies))
		return
	}
	seen := map[Currency]bool{t.Currency: true}
	for _, o := range t.Others {
		value, maximum := "discountValue."+o.Currency.Code(), "maxDiscount."+o.Currency.Code()
		switch {
		case t.Type == Tiered:
			faults.Add(maximum, validation.NotAllowed, "tiers have one currency")
		case o.Currency.IsZero():
			faults.Add(value, validation.Required, "an amount needs a currency")
		case seen[o.Currency]:
			faults.Add(value, validation.Mismatch, "the currency is named twice")
		default:
			t.otherFaults(value, maximum, o, faults)
		}
		seen[o.Currency] = true
	}
}

// otherFaults checks the amounts of another currency.
func (t *DiscountTerms) otherFaults(value, maximum string, o CurrencyTerms, faults *validation.Error) {
	t.amountFaults(value, maximum, o.Amount, o.MaxDiscount, faults)
	switch {
	case t.MaxDiscount > 0 && o.MaxDiscount == 0:
		faults.Add(maximum, validation.Required, "every currency has a maximum, or none has")
	case t.MaxDiscount == 0 && o.MaxDiscount > 0:
		faults.Add(maximum, validation.NotAllowed, "every currency has a maximum, or none has")
	case t.MaxDiscount == 0 && o.MaxDiscount == 0 && o.Amount == 0 && !t.Type.HasAmount():
		faults.Add(value, validation.NotAllowed, fmt.Sprintf("a discount of type %s has no amount", t.Type))
	}
}

// amountFaults checks the amounts of one currency.
func (t *DiscountTerms) amountFaults(value, maximum string, amount, most int64, faults *validation.Error) {
	switch {
	case amount < 0:
		faults.Add(value, validation.TooSmall, "an amount is greater than 0")
	case t.Type.HasAmount() && amount == 0:
		faults.Add(value, validation.Required, "an amount greater than 0 is required")
	case !t.Type.HasAmount() && amount != 0:
		faults.Add(value, validation.NotAllowed, fmt.Sprintf("a discount of type %s has no amount", t.Type))
	}
	if most < 0 {
		faults.Add(maximum, validation.TooSmall, "a maximum is greater than 0")
	}
}

func (t *DiscountTerms) unitFaults(faults *validation.Error) {
	for _, term := range [...]struct {
		field             string
		value             int64
		allowed, required bool
	}{
		{"maxUnits", t.MaxUnits, t.Type.hasMaxUnits(), false},
		{"units", t.Units, t.Type == CheapestUnits, true},
		{"buyQuantity", t.BuyQuantity, t.Type == BuyXGetY, true},
		{"getQuantity", t.GetQuantity, t.Type == BuyXGetY, true},
		{"maxApplications", t.MaxApplications, t.Type == BuyXGetY, false},
	} {
		switch {
		case term.value == 0 && term.allowed && term.required:
			faults.Add(term.field, validation.Required, fmt.Sprintf("a number from 1 to %d is required", MaxDiscountUnits))
		case term.value == 0:
		case !term.allowed:
			faults.Add(term.field, validation.NotAllowed, fmt.Sprintf("a discount of type %s has no %s", t.Type, term.field))
		case term.value < 0:
			faults.Add(term.field, validation.TooSmall, "must be at least 1")
		case term.value > MaxDiscountUnits:
			faults.Add(term.field, validation.TooLarge, fmt.Sprintf("must be at most %d", MaxDiscountUnits))
		}
	}
}

func (t *DiscountTerms) tierFaults(faults *validation.Error) {
	if t.Type != Tiered {
		if t.TierBasis != 0 {
			faults.Add("tierBasis", validation.NotAllowed, "only a tiered discount has tiers")
		}
		if len(t.Tiers) > 0 {
			faults.Add("tiers", validation.NotAllowed, "only a tiered discount has tiers")
		}
		return
	}
	switch {
	case t.TierBasis == 0:
		faults.Add("tierBasis", validation.Required, "must be AMOUNT or QUANTITY")
	case t.TierBasis > ByQuantity:
		faults.Add("tierBasis", validation.Unknown, "must be AMOUNT or QUANTITY")
	}
	switch {
	case len(t.Tiers) == 0:
		faults.Add("tiers", validation.Required, "a tiered discount has at least one tier")
	case len(t.Tiers) > MaxTiers:
		faults.Add("tiers", validation.TooLong, fmt.Sprintf("at most %d tiers are allowed", MaxTiers))
		return
	}
	for i, tier := range t.Tiers {
		path := func(field string) string { return fmt.Sprintf("tiers[%d].%s", i, field) }
		switch {
		case tier.From < 0:
			faults.Add(path("from"), validation.TooSmall, "a bound is not negative")
		case t.TierBasis == ByQuantity && tier.From > MaxDiscountUnits:
			faults.Add(path("from"), validation.TooLarge, fmt.Sprintf("must be at most %d", MaxDiscountUnits))
		case i > 0 && tier.From <= t.Tiers[i-1].From:
			faults.Add(path("from"), validation.Mismatch, "tiers are in ascending order: the bound must be above that of the tier before")
		}
		switch {
		case tier.Amount < 0:
			faults.Add(path("amount"), validation.TooSmall, "an amount is greater than 0")
		case tier.Percent.IsZero() && tier.Amount == 0:
			faults.Add(path("percent"), validation.Required, "a percentage or an amount is required")
		case !tier.Percent.IsZero() && tier.Amount != 0:
			faults.Add(path("amount"), validation.NotAllowed, "a tier has a percentage or an amount, not both")
		}
	}
}
