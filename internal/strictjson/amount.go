package strictjson

import "github.com/couponkit/couponkit/pricing"

// Amount returns an amount in minor units as the text that stored records have: "45.00" for 4500
// minor units of EUR. An amount without a currency stays in minor units, because nobody knows its
// decimals.
func Amount(c pricing.Currency, minor int64) pricing.Number { return pricing.Number(c.Format(minor)) }

// OptionalAmount is like [Amount], but returns the empty text for 0.
func OptionalAmount(c pricing.Currency, minor int64) pricing.Number {
	if minor == 0 {
		return ""
	}
	return Amount(c, minor)
}

// Minor reads an amount that [Amount] or [OptionalAmount] has written. The empty text is 0. Minor returns a
// [*validation.Error] for a malformed amount.
func Minor(c pricing.Currency, amount pricing.Number) (int64, error) {
	switch {
	case amount == "":
		return 0, nil
	case c.IsZero():
		return amount.Int64()
	}
	return c.Parse(string(amount))
}
