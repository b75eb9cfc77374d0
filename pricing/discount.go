package pricing

import "fmt"

// DiscountType tells how a discount is computed (specification 2.1).
type DiscountType uint8

// The discount types.
const (
	Percentage  DiscountType = iota + 1 // a percentage of the eligible subtotal
	FixedAmount                         // an amount, at most the eligible subtotal
)

// String returns the wire name: "PERCENTAGE" or "FIXED_AMOUNT". An unknown type returns
// "".
func (t DiscountType) String() string {
	switch t {
	case Percentage:
		return "PERCENTAGE"
	case FixedAmount:
		return "FIXED_AMOUNT"
	}
	return ""
}

// GoString returns text for %#v, such as "pricing.DiscountType(PERCENTAGE)".
func (t DiscountType) GoString() string { return goString("DiscountType", t.String(), uint8(t)) }

// ParseDiscountType returns the type whose wire name is text. Letter case matters. Any
// other text, including "", is a [*ValidationError].
func ParseDiscountType(text string) (DiscountType, error) {
	switch text {
	case "PERCENTAGE":
		return Percentage, nil
	case "FIXED_AMOUNT":
		return FixedAmount, nil
	}
	return 0, invalid("", FieldUnknown, "must be PERCENTAGE or FIXED_AMOUNT")
}

// MarshalText returns the wire name. The zero value returns empty text. An unknown type
// is a [*ValidationError].
func (t DiscountType) MarshalText() ([]byte, error) {
	if t > FixedAmount {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no discount type", t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a wire name as [ParseDiscountType] does. After an error t is
// zero.
func (t *DiscountType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseDiscountType(string(text))
	return err
}

// Discount is a percentage or a fixed amount. It is comparable with ==. The zero value
// means no discount. For its JSON form see [Discount.MarshalJSON].
type Discount struct {
	percent Percent
	amount  Money
	kind    DiscountType
}

// PercentOff returns a discount of p percent. A zero p returns the zero Discount.
func PercentOff(p Percent) Discount {
	if p.IsZero() {
		return Discount{}
	}
	return Discount{kind: Percentage, percent: p}
}

// AmountOff returns a discount of a fixed amount. An amount of 0 or less, or without a
// currency, is a [*ValidationError].
func AmountOff(m Money) (Discount, error) {
	switch {
	case m.Currency().IsZero():
		return Discount{}, invalid("currency", FieldRequired, "a fixed amount needs a currency")
	case m.Minor() <= 0:
		return Discount{}, invalid("", FieldTooSmall, "a fixed amount is greater than 0")
	}
	return Discount{kind: FixedAmount, amount: m}, nil
}

// IsZero reports whether d is the zero value, which means no discount.
func (d Discount) IsZero() bool { return d.kind == 0 }

// Equal reports whether d and e are the same discount. go-cmp uses it.
func (d Discount) Equal(e Discount) bool { return d == e }

// Type returns the discount type. The zero Discount returns 0.
func (d Discount) Type() DiscountType { return d.kind }

// Percent returns the percentage. It is zero unless the type is [Percentage].
func (d Discount) Percent() Percent { return d.percent }

// Amount returns the amount. It is zero unless the type is [FixedAmount].
func (d Discount) Amount() Money { return d.amount }

// Value returns the number as JSON has it: "12.5" for a percentage, "10.00" for an
// amount. The zero Discount returns "".
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

// GoString returns text for %#v, such as "pricing.Discount(12.5 %)".
func (d Discount) GoString() string { return fmt.Sprintf("pricing.Discount(%s)", d) }

// Of returns the discount on a base, both in minor units. The result is between 0 and
// base, both included. A percentage is rounded half up. Of does not compare currencies;
// see [Discount.Fits].
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

// InSteps returns the discount on a base, both in minor units. A percentage is rounded
// half up to a whole step. base and a fixed amount must be multiples of the step. A
// step of 1 or less means no step.
func (d Discount) InSteps(base, step int64) int64 {
	if step <= 1 || d.kind != Percentage {
		return d.Of(base)
	}
	return d.percent.Of(base/step) * step
}

// Fits returns nil if d can be taken off a cart in the currency c. A fixed amount in
// another currency is a [*ValidationError]. A percentage fits every currency.
func (d Discount) Fits(c Currency) error {
	if d.kind == FixedAmount && d.amount.currency != c {
		return invalid("currency", FieldMismatch,
			fmt.Sprintf("a discount in %s cannot be taken off a cart in %s", d.amount.currency, c))
	}
	return nil
}

// FitsCart returns nil if d can be taken off the cart. A fixed amount is a
// [*ValidationError] if its currency differs from the cart's. A fixed amount that is
// not a multiple of the cart's step is also a [*ValidationError].
func (d Discount) FitsCart(c Cart) error {
	if err := d.Fits(c.Currency); err != nil {
		return err
	}
	if d.kind == FixedAmount && !onStep(d.amount.minor, c.Step) {
		return invalid("discount", FieldTooManyDecimals, stepMessage(c.Currency, c.Step))
	}
	return nil
}
