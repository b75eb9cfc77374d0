package pricing

import "fmt"

// DiscountType tells whether a discount is a percentage or a fixed amount (specification
// 2.1).
type DiscountType uint8

// Percentage and FixedAmount are the discount types.
const (
	// Percentage takes a percentage off the eligible subtotal.
	Percentage DiscountType = iota + 1
	// FixedAmount takes a fixed amount off the cart, but at most the eligible subtotal.
	FixedAmount
)

// String returns the JSON name of the discount type: "PERCENTAGE" or "FIXED_AMOUNT".
// For an unknown discount type, String returns the empty string.
func (t DiscountType) String() string {
	switch t {
	case Percentage:
		return "PERCENTAGE"
	case FixedAmount:
		return "FIXED_AMOUNT"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.DiscountType(PERCENTAGE)".
func (t DiscountType) GoString() string { return goString("DiscountType", t.String(), uint8(t)) }

// ParseDiscountType returns the discount type with the given JSON name, such as
// "PERCENTAGE". The name is case-sensitive. ParseDiscountType returns a [*ValidationError]
// for an unknown or empty name.
func ParseDiscountType(text string) (DiscountType, error) {
	switch text {
	case "PERCENTAGE":
		return Percentage, nil
	case "FIXED_AMOUNT":
		return FixedAmount, nil
	}
	return 0, invalid("", FieldUnknown, "must be PERCENTAGE or FIXED_AMOUNT")
}

// MarshalText returns the JSON name of the discount type, such as "PERCENTAGE". For the
// zero DiscountType, MarshalText returns empty text. For an unknown discount type,
// MarshalText returns a [*ValidationError].
func (t DiscountType) MarshalText() ([]byte, error) {
	if t > FixedAmount {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no discount type", t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses the JSON name of a discount type, like [ParseDiscountType]. On
// error, UnmarshalText sets the discount type to 0.
func (t *DiscountType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseDiscountType(string(text))
	return err
}

// Discount is a percentage or a fixed amount. Discount values are comparable with ==. The
// zero Discount takes nothing off. See [Discount.MarshalJSON] for the JSON form of a
// discount.
type Discount struct {
	percent Percent
	amount  Money
	kind    DiscountType
}

// PercentOff returns a discount of the given percentage. For the zero Percent, PercentOff
// returns the zero Discount.
func PercentOff(p Percent) Discount {
	if p.IsZero() {
		return Discount{}
	}
	return Discount{kind: Percentage, percent: p}
}

// AmountOff returns a discount of the given fixed amount. AmountOff returns a
// [*ValidationError] if the amount is 0 or less, or has no currency.
func AmountOff(m Money) (Discount, error) {
	switch {
	case m.Currency().IsZero():
		return Discount{}, invalid("currency", FieldRequired, "a fixed amount needs a currency")
	case m.Minor() <= 0:
		return Discount{}, invalid("", FieldTooSmall, "a fixed amount is greater than 0")
	}
	return Discount{kind: FixedAmount, amount: m}, nil
}

// IsZero reports whether d is the zero Discount.
func (d Discount) IsZero() bool { return d.kind == 0 }

// Equal reports whether d and e are the same discount. Package go-cmp uses Equal to compare
// values.
func (d Discount) Equal(e Discount) bool { return d == e }

// Type returns the discount type. For the zero Discount, Type returns 0.
func (d Discount) Type() DiscountType { return d.kind }

// Percent returns the percentage of a [Percentage] discount. For any other discount,
// Percent returns the zero Percent.
func (d Discount) Percent() Percent { return d.percent }

// Amount returns the amount of a [FixedAmount] discount. For any other discount, Amount
// returns the zero Money.
func (d Discount) Amount() Money { return d.amount }

// Value returns the JSON field "discountValue", such as "12.5" or "10.00". For the zero
// Discount, Value returns the empty string.
func (d Discount) Value() string {
	switch d.kind {
	case Percentage:
		return d.percent.String()
	case FixedAmount:
		return d.amount.Amount()
	}
	return ""
}

// String returns text such as "12.5 %", "10.00 EUR" or "no discount".
func (d Discount) String() string {
	switch d.kind {
	case Percentage:
		return d.percent.String() + " %"
	case FixedAmount:
		return d.amount.String()
	}
	return "no discount"
}

// GoString returns the text that package fmt prints for %#v, such as "pricing.Discount(12.5
// %)".
func (d Discount) GoString() string { return fmt.Sprintf("pricing.Discount(%s)", d) }

// Of returns the discount on the given amount, in minor units. The result is at least 0 and
// at most the amount. For a negative amount, Of returns 0. A percentage discount is rounded
// half up. Use [Discount.Fits] to check the currency.
func (d Discount) Of(base int64) int64 {
	if base <= 0 {
		return 0
	}
	switch d.kind {
	case Percentage:
		return d.percent.Of(base)
	case FixedAmount:
		return min(d.amount.minor, base)
	}
	return 0
}

// InSteps is like [Discount.Of] but rounds a percentage discount half up to a multiple of
// the step. The amount and the step are in minor units. The amount and a fixed discount
// must be multiples of the step. With a step of 1 or less, InSteps returns the same
// discount as Of.
func (d Discount) InSteps(base, step int64) int64 {
	if step <= 1 || d.kind != Percentage {
		return d.Of(base)
	}
	return d.percent.Of(base/step) * step
}

// Fits checks that the discount can be used for carts in the given currency. Fits returns a
// [*ValidationError] if the discount is a fixed amount in another currency. A percentage
// fits every currency.
func (d Discount) Fits(c Currency) error {
	if d.kind == FixedAmount && d.amount.currency != c {
		return invalid("currency", FieldMismatch,
			fmt.Sprintf("a discount in %s cannot be taken off a cart in %s", d.amount.currency, c))
	}
	return nil
}

// FitsCart checks that the discount can be used for the cart. FitsCart returns a
// [*ValidationError] if a fixed amount has another currency than the cart. FitsCart also
// returns a [*ValidationError] if a fixed amount is not a multiple of the cart's step.
func (d Discount) FitsCart(c Cart) error {
	if err := d.Fits(c.Currency); err != nil {
		return err
	}
	if d.kind == FixedAmount && !onStep(d.amount.minor, c.Step) {
		return invalid("discount", FieldTooManyDecimals, stepMessage(c.Currency, c.Step))
	}
	return nil
}
