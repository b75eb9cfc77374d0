package pricing

import "fmt"

// DiscountType is the way in which a discount is computed. Section 2.1 of the
// specification defines the discount types.
type DiscountType uint8

// Percentage and FixedAmount are the discount types.
const (
	// Percentage is the type of a discount that is a percentage of the eligible subtotal.
	Percentage DiscountType = iota + 1
	// FixedAmount is the type of a discount that is a fixed amount. A fixed amount takes
	// off at most the eligible subtotal.
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

// GoString returns the text that package fmt prints for the verb %#v, such as
// "pricing.DiscountType(PERCENTAGE)".
func (t DiscountType) GoString() string { return goString("DiscountType", t.String(), uint8(t)) }

// ParseDiscountType returns the discount type with the given JSON name, such as
// "PERCENTAGE". ParseDiscountType distinguishes upper-case and lower-case letters.
// ParseDiscountType returns a [*ValidationError] for an unknown name and for the empty
// string.
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

// UnmarshalText reads the JSON name of a discount type as [ParseDiscountType] does. If
// UnmarshalText returns an error, t becomes 0.
func (t *DiscountType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseDiscountType(string(text))
	return err
}

// Discount is a percentage or a fixed amount. Discount values are comparable with ==.
// The zero Discount means that there is no discount. [Discount.MarshalJSON] describes
// the JSON form of a discount.
type Discount struct {
	percent Percent
	amount  Money
	kind    DiscountType
}

// PercentOff returns a discount of p percent. For the zero Percent, PercentOff returns
// the zero Discount.
func PercentOff(p Percent) Discount {
	if p.IsZero() {
		return Discount{}
	}
	return Discount{kind: Percentage, percent: p}
}

// AmountOff returns a discount of a fixed amount. AmountOff returns a
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

// IsZero reports whether d is the zero Discount. The zero Discount means that there is
// no discount.
func (d Discount) IsZero() bool { return d.kind == 0 }

// Equal reports whether d and e are the same discount. Package go-cmp calls Equal to
// compare values.
func (d Discount) Equal(e Discount) bool { return d == e }

// Type returns the discount type. For the zero Discount, Type returns 0.
func (d Discount) Type() DiscountType { return d.kind }

// Percent returns the percentage of the discount. If the discount type is not
// [Percentage], Percent returns the zero Percent.
func (d Discount) Percent() Percent { return d.percent }

// Amount returns the fixed amount of the discount. If the discount type is not
// [FixedAmount], Amount returns the zero Money.
func (d Discount) Amount() Money { return d.amount }

// Value returns the text of the JSON field "discountValue". Value returns text such as
// "12.5" for a percentage and "10.00" for a fixed amount. For the zero Discount, Value
// returns the empty string.
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

// GoString returns the text that package fmt prints for the verb %#v, such as
// "pricing.Discount(12.5 %)".
func (d Discount) GoString() string { return fmt.Sprintf("pricing.Discount(%s)", d) }

// Of returns the discount on an amount of base minor units. The returned discount is in
// minor units. The returned discount is between 0 and the parameter base, both
// included. A percentage discount is rounded half up. Of does not compare currencies,
// but [Discount.Fits] does.
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

// InSteps returns the discount on an amount of base minor units. The returned discount
// is in minor units. A percentage discount is rounded half up to a whole step. The
// parameter base and a fixed amount must be multiples of the step. A step of 1 or less
// means that there is no step.
func (d Discount) InSteps(base, step int64) int64 {
	if step <= 1 || d.kind != Percentage {
		return d.Of(base)
	}
	return d.percent.Of(base/step) * step
}

// Fits returns nil if the discount can be taken off a cart in the currency c. Fits
// returns a [*ValidationError] if the discount is a fixed amount in a currency other
// than c. A percentage can be taken off a cart in any currency.
func (d Discount) Fits(c Currency) error {
	if d.kind == FixedAmount && d.amount.currency != c {
		return invalid("currency", FieldMismatch,
			fmt.Sprintf("a discount in %s cannot be taken off a cart in %s", d.amount.currency, c))
	}
	return nil
}

// FitsCart returns nil if the discount can be taken off the cart. FitsCart returns a
// [*ValidationError] if a fixed amount and the cart have different currencies. FitsCart
// also returns a [*ValidationError] if a fixed amount is not a multiple of the cart's
// step.
func (d Discount) FitsCart(c Cart) error {
	if err := d.Fits(c.Currency); err != nil {
		return err
	}
	if d.kind == FixedAmount && !onStep(d.amount.minor, c.Step) {
		return invalid("discount", FieldTooManyDecimals, stepMessage(c.Currency, c.Step))
	}
	return nil
}
