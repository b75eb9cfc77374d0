package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// DiscountType tells how a discount is computed. Contract section 2 has the arithmetic of each
// type. A unit counts only if it gives something.
type DiscountType uint8

// These constants are the discount types.
const (
	// Percentage takes a percentage off the eligible units.
	Percentage DiscountType = iota + 1
	// FixedAmount takes a fixed amount off the cart, but at most the eligible subtotal.
	FixedAmount
	// FixedAmountPerUnit takes a fixed amount off each eligible unit.
	FixedAmountPerUnit
	// FixedUnitPrice lowers the price of each eligible unit to a fixed price.
	FixedUnitPrice
	// CheapestUnits takes a percentage off the cheapest eligible units.
	CheapestUnits
	// BuyXGetY takes a percentage off the cheapest eligible units for units that are bought.
	BuyXGetY
	// Tiered takes a percentage or an amount that depends on the size of the purchase.
	Tiered
)

const discountTypeMessage = "must be PERCENTAGE, FIXED_AMOUNT, FIXED_AMOUNT_PER_UNIT, FIXED_UNIT_PRICE, CHEAPEST_UNITS, BUY_X_GET_Y or TIERED"

// String returns the JSON name of the discount type, such as "PERCENTAGE". For an unknown
// discount type, String returns the empty string.
func (t DiscountType) String() string {
	switch t {
	case Percentage:
		return "PERCENTAGE"
	case FixedAmount:
		return "FIXED_AMOUNT"
	case FixedAmountPerUnit:
		return "FIXED_AMOUNT_PER_UNIT"
	case FixedUnitPrice:
		return "FIXED_UNIT_PRICE"
	case CheapestUnits:
		return "CHEAPEST_UNITS"
	case BuyXGetY:
		return "BUY_X_GET_Y"
	case Tiered:
		return "TIERED"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.DiscountType(PERCENTAGE)".
func (t DiscountType) GoString() string { return goString("DiscountType", t.String(), uint8(t)) }

// ParseDiscountType returns the discount type with the given JSON name, such as
// "PERCENTAGE". The name is case-sensitive. ParseDiscountType returns a [*validation.Error]
// for an unknown or empty name.
func ParseDiscountType(text string) (DiscountType, error) {
	for t := Percentage; t <= Tiered; t++ {
		if t.String() == text {
			return t, nil
		}
	}
	return 0, validation.New("", validation.Unknown, discountTypeMessage)
}

// MarshalText returns the JSON name of the discount type, such as "PERCENTAGE". For the
// zero DiscountType, MarshalText returns empty text. For an unknown discount type,
// MarshalText returns a [*validation.Error].
func (t DiscountType) MarshalText() ([]byte, error) {
	if t > Tiered {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no discount type", t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses the JSON name of a discount type, like [ParseDiscountType]. On
// error, UnmarshalText sets the discount type to 0.
func (t *DiscountType) UnmarshalText(text []byte) (err error) {
	*t, err = ParseDiscountType(string(text))
	return err
}

// HasPercent reports whether the value of a discount of this type is a percentage.
func (t DiscountType) HasPercent() bool {
	return t == Percentage || t == CheapestUnits || t == BuyXGetY
}

// HasAmount reports whether the value of a discount of this type is an amount.
func (t DiscountType) HasAmount() bool {
	return t == FixedAmount || t == FixedAmountPerUnit || t == FixedUnitPrice
}

func (t DiscountType) hasMaxUnits() bool { return t >= Percentage && t <= FixedUnitPrice }

// Lane is a step of combining discounts. The discounts of the item lane are computed from list
// prices. The discounts of the order lane are computed from what the item lane has left.
type Lane uint8

// ItemLane and OrderLane are the lanes, in the order in which they are computed.
const (
	ItemLane Lane = iota + 1
	OrderLane
)

// String returns the JSON name of the lane: "item" or "order". For an unknown lane, String
// returns the empty string.
func (l Lane) String() string {
	switch l {
	case ItemLane:
		return "item"
	case OrderLane:
		return "order"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as "pricing.Lane(item)".
func (l Lane) GoString() string { return goString("Lane", l.String(), uint8(l)) }

// ParseLane returns the lane with the given JSON name, "item" or "order". ParseLane returns a
// [*validation.Error] for an unknown or empty name.
func ParseLane(text string) (Lane, error) {
	switch text {
	case "item":
		return ItemLane, nil
	case "order":
		return OrderLane, nil
	}
	return 0, validation.New("", validation.Unknown, "must be item or order")
}

// MarshalText returns the JSON name of the lane. For the zero Lane, MarshalText returns empty
// text. For an unknown lane, MarshalText returns a [*validation.Error].
func (l Lane) MarshalText() ([]byte, error) {
	if l > OrderLane {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no lane", l))
	}
	return []byte(l.String()), nil
}

// UnmarshalText parses the JSON name of a lane, like [ParseLane]. On error, UnmarshalText sets
// the lane to 0.
func (l *Lane) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLane(string(text))
	return err
}

// DefaultLane returns the lane of a discount of this type that names no lane.
func (t DiscountType) DefaultLane() Lane {
	switch t {
	case FixedAmountPerUnit, FixedUnitPrice, CheapestUnits, BuyXGetY:
		return ItemLane
	case Percentage, FixedAmount, Tiered:
		return OrderLane
	}
	return 0
}

// allows reports whether a discount of this type can be in the lane.
func (t DiscountType) allows(l Lane) bool {
	return l == t.DefaultLane() || t == Percentage && l == ItemLane
}

// TierBasis tells what the tiers of a [Tiered] discount compare with their bounds.
type TierBasis uint8

// ByAmount and ByQuantity are the bases of tiers.
const (
	// ByAmount compares the list price of the eligible lines, in minor units.
	ByAmount TierBasis = iota + 1
	// ByQuantity compares the number of eligible units whose list price is above 0.
	ByQuantity
)

// String returns the JSON name of the basis: "AMOUNT" or "QUANTITY". For an unknown basis,
// String returns the empty string.
func (b TierBasis) String() string {
	switch b {
	case ByAmount:
		return "AMOUNT"
	case ByQuantity:
		return "QUANTITY"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.TierBasis(AMOUNT)".
func (b TierBasis) GoString() string { return goString("TierBasis", b.String(), uint8(b)) }

// ParseTierBasis returns the basis with the given JSON name, "AMOUNT" or "QUANTITY".
// ParseTierBasis returns a [*validation.Error] for an unknown or empty name.
func ParseTierBasis(text string) (TierBasis, error) {
	switch text {
	case "AMOUNT":
		return ByAmount, nil
	case "QUANTITY":
		return ByQuantity, nil
	}
	return 0, validation.New("", validation.Unknown, "must be AMOUNT or QUANTITY")
}

// MarshalText returns the JSON name of the basis. For the zero TierBasis, MarshalText returns
// empty text. For an unknown basis, MarshalText returns a [*validation.Error].
func (b TierBasis) MarshalText() ([]byte, error) {
	if b > ByQuantity {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no basis of tiers", b))
	}
	return []byte(b.String()), nil
}

// UnmarshalText parses the JSON name of a basis, like [ParseTierBasis]. On error, UnmarshalText
// sets the basis to 0.
func (b *TierBasis) UnmarshalText(text []byte) (err error) {
	*b, err = ParseTierBasis(string(text))
	return err
}
