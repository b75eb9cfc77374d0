package pricing

import "fmt"

// DiscountType tells how a discount is computed (specification 2.1).
type DiscountType uint8

// The discount types.
const (
	Percentage  DiscountType = iota + 1 // a percentage of the eligible subtotal
	FixedAmount                         // an amount, capped at the eligible subtotal
)

// String returns the wire name: "PERCENTAGE" or "FIXED_AMOUNT", and "" for a value
// that is no type.
func (t DiscountType) String() string {
	switch t {
	case Percentage:
		return "PERCENTAGE"
	case FixedAmount:
		return "FIXED_AMOUNT"
	}
	return ""
}

// GoString shows the value in test failures.
func (t DiscountType) GoString() string { return goString("DiscountType", t.String(), uint8(t)) }

// ParseDiscountType finds a type by its wire name, letter by letter. Any other
// text, the empty one too, is a [*ValidationError].
func ParseDiscountType(text string) (DiscountType, error) {
	switch text {
	case "PERCENTAGE":
		return Percentage, nil
	case "FIXED_AMOUNT":
		return FixedAmount, nil
	}
	return 0, invalid("", FieldUnknown, "must be PERCENTAGE or FIXED_AMOUNT")
}

// MarshalText returns the wire name. The zero value is the empty text; a value
// that is no type is an error.
func (t DiscountType) MarshalText() ([]byte, error) {
	if t > FixedAmount {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no discount type", t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText is [ParseDiscountType]; after an error t is zero.
func (t *DiscountType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseDiscountType(string(text))
	return err
}

// Discount is a percentage or a fixed amount. It is a comparable value. The zero
// value is no discount: a cart priced with it costs its list prices. In JSON it has the
// names that a coupon has for it; see [Discount.MarshalJSON].
type Discount struct {
	percent Percent
	amount  Money
	kind    DiscountType
}

// PercentOff takes p percent off the eligible subtotal.
func PercentOff(p Percent) Discount {
	if p.IsZero() {
		return Discount{}
	}
	return Discount{kind: Percentage, percent: p}
}

// AmountOff takes a positive amount off the eligible subtotal, at most all of
// it. An amount of 0 or less, or of no currency, is a [*ValidationError].
func AmountOff(m Money) (Discount, error) {
	switch {
	case m.Currency().IsZero():
		return Discount{}, invalid("currency", FieldRequired, "a fixed amount needs a currency")
	case m.Minor() <= 0:
		return Discount{}, invalid("", FieldTooSmall, "a fixed amount is greater than 0")
	}
	return Discount{kind: FixedAmount, amount: m}, nil
}

// IsZero reports whether d is no discount.
func (d Discount) IsZero() bool { return d.kind == 0 }

// Equal reports whether d and e are the same discount, as == does; go-cmp finds
// it.
func (d Discount) Equal(e Discount) bool { return d == e }

// Type returns the discount type, or 0 for no discount.
func (d Discount) Type() DiscountType { return d.kind }

// Percent returns the percentage, zero unless the type is [Percentage].
func (d Discount) Percent() Percent { return d.percent }

// Amount returns the amount, zero unless the type is [FixedAmount].
func (d Discount) Amount() Money { return d.amount }

// Value returns the discount value as the wire has it: "12.5" for a percentage,
// "10.00" for an amount, "" for no discount.
func (d Discount) Value() string {
	switch d.kind {
	case Percentage:
		return d.percent.String()
	case FixedAmount:
		return d.amount.Amount()
	}
	return ""
}

// String returns "12.5 %", "10.00 EUR" or "no discount".
func (d Discount) String() string {
	switch d.kind {
	case Percentage:
		return d.percent.String() + " %"
	case FixedAmount:
		return d.amount.String()
	}
	return "no discount"
}

// GoString shows the value in test failures.
func (d Discount) GoString() string { return fmt.Sprintf("pricing.Discount(%s)", d) }

// Of returns the discount on an eligible subtotal of base minor units: rounded
// half-up once for a percentage, capped at base for an amount, always within
// [0, base]. The caller has checked that an amount is of the cart's currency.
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

// InSteps is [Discount.Of] in whole steps of amounts (see [Cart].Step): a percentage
// of a base on the step is rounded half-up once, to a whole step; base and amount
// are multiples of the step already. A step of 1 or less is no step.
func (d Discount) InSteps(base, step int64) int64 {
	if step <= 1 || d.kind != Percentage {
		return d.Of(base)
	}
	return d.percent.Of(base/step) * step
}

// Fits reports, as a [*ValidationError], when a fixed amount is of another
// currency than c. A percentage fits every currency.
func (d Discount) Fits(c Currency) error {
	if d.kind == FixedAmount && d.amount.currency != c {
		return invalid("currency", FieldMismatch,
			fmt.Sprintf("a discount in %s cannot be taken off a cart in %s", d.amount.currency, c))
	}
	return nil
}

// FitsCart reports, as a [*ValidationError], when a fixed amount cannot be taken off
// the cart: it is of another currency, or off the cart's step. A percentage fits
// every cart.
func (d Discount) FitsCart(c Cart) error {
	if err := d.Fits(c.Currency); err != nil {
		return err
	}
	if d.kind == FixedAmount && !onStep(d.amount.minor, c.Step) {
		return invalid("discount", FieldTooManyDecimals, stepMessage(c.Currency, c.Step))
	}
	return nil
}
