package pricing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// The bounds of a cart.
const (
	MaxLines        = 10_000 // lines of a cart
	MaxLineIDLength = 255    // Unicode code points of a line's ID and of its ItemID
)

// LineKind tells what a line sells.
type LineKind uint8

// The kinds of line. The specification's PRODUCT means [Device] or [Accessory].
const (
	Plan      LineKind = iota + 1 // a subscription plan
	Device                        // a device
	Accessory                     // an accessory
	Shipping                      // shipping, never discounted
)

// String returns the wire name: "plan", "device", "accessory" or "shipping". An unknown
// kind returns "".
func (k LineKind) String() string {
	switch k {
	case Plan:
		return "plan"
	case Device:
		return "device"
	case Accessory:
		return "accessory"
	case Shipping:
		return "shipping"
	}
	return ""
}

// GoString returns text for %#v, such as "pricing.LineKind(plan)".
func (k LineKind) GoString() string { return goString("LineKind", k.String(), uint8(k)) }

// ParseLineKind returns the kind whose wire name is text. Letter case matters. Any
// other text, including "", is a [*ValidationError].
func ParseLineKind(text string) (LineKind, error) {
	for k := Plan; k <= Shipping; k++ {
		if k.String() == text {
			return k, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be plan, device, accessory or shipping")
}

// MarshalText returns the wire name. The zero value returns empty text. An unknown kind
// is a [*ValidationError].
func (k LineKind) MarshalText() ([]byte, error) {
	if k > Shipping {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no kind of line", k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads a wire name as [ParseLineKind] does. After an error k is zero.
func (k *LineKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseLineKind(string(text))
	return err
}

// Interval is the length of one billing period.
type Interval uint8

// The intervals. The zero value, Once, is a line that is paid once.
const (
	Once Interval = iota
	Daily
	Weekly
	Monthly
	Yearly
)

// String returns the wire name: "day", "week", "month" or "year". [Once] and unknown
// intervals return "".
func (i Interval) String() string {
	switch i {
	case Daily:
		return "day"
	case Weekly:
		return "week"
	case Monthly:
		return "month"
	case Yearly:
		return "year"
	case Once:
	}
	return ""
}

// GoString returns text for %#v, such as "pricing.Interval(month)".
func (i Interval) GoString() string { return goString("Interval", i.String(), uint8(i)) }

// ParseInterval returns the interval whose wire name is text. Empty text is [Once]. Any
// other text is a [*ValidationError].
func ParseInterval(text string) (Interval, error) {
	for i := Once; i <= Yearly; i++ {
		if i.String() == text {
			return i, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be day, week, month or year")
}

// MarshalText returns the wire name. An unknown interval is a [*ValidationError].
func (i Interval) MarshalText() ([]byte, error) {
	if i > Yearly {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no interval", i))
	}
	return []byte(i.String()), nil
}

// UnmarshalText reads a wire name as [ParseInterval] does. After an error i is [Once].
func (i *Interval) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInterval(string(text))
	return err
}

// Line is one position of a cart. Only whole carts have a JSON form; see
// [Cart.MarshalJSON].
type Line struct {
	// ID is the caller's name for the line, at most [MaxLineIDLength] code points.
	// Pricing ignores the ID.
	ID string
	// Kind tells what is sold.
	Kind LineKind
	// ItemID names the plan, device, accessory or shipping option. It has at most
	// [MaxLineIDLength] code points.
	ItemID string
	// Quantity is the number of units, at least 1.
	Quantity int64
	// UnitPrice is the list price of one unit in minor units, at least 0.
	UnitPrice int64
	// Recurs is the billing interval of a plan. All other kinds have [Once]. UnitPrice
	// is the price of the first period.
	Recurs Interval
}

// Cart is what a customer is about to buy, in one currency. This package keeps no
// reference to a cart. For its JSON form see [Cart.MarshalJSON].
type Cart struct {
	// Currency is the currency of every price. It is required.
	Currency Currency
	// Step is the smallest chargeable amount in minor units. Every price must be a
	// multiple of the step. Every amount of the quote is then a multiple of the step.
	// For example, a processor that charges dinars in steps of 0.010 needs a step of
	// 10. 0 and 1 mean no step.
	Step int64
	// Lines are the lines in the customer's order, at most [MaxLines]. Earlier lines
	// win ties when a discount is spread. A cart without lines is valid and costs 0.
	Lines []Line
}

// Validate returns nil or a [*ValidationError] that lists every fault of the cart:
//
//   - the currency is missing
//   - the step is negative
//   - there are more than [MaxLines] lines
//   - an ID has more than [MaxLineIDLength] code points
//   - a kind or an interval is unknown
//   - a quantity is less than 1
//   - a price is negative or not a multiple of the step
//   - a line other than a plan recurs
//   - a line or the sum of all lines exceeds 64 bits
func (c Cart) Validate() error {
	var faults ValidationError
	if c.Currency.IsZero() {
		faults.Add("currency", FieldRequired, "a cart needs a currency")
	}
	stepFaults(c.Step, &faults)
	if len(c.Lines) > MaxLines {
		faults.Add("lines", FieldTooLong, tooManyLines())
		return faults.Err()
	}
	sum, summed := int64(0), true
	for i := range c.Lines {
		l := &c.Lines[i]
		l.idFaults(i, &faults)
		l.faults(i, &faults)
		offStep(linePath(i, "unitPrice"), l.UnitPrice, c.Currency, c.Step, &faults)
		subtotal, ok := l.subtotal()
		if !ok || !summed {
			continue
		}
		if sum, summed = addAmounts(sum, subtotal); !summed {
			faults.Add(linePath(i, "unitPrice"), FieldOverflow, "the cart's total is too large")
		}
	}
	return faults.Err()
}

func tooManyLines() string { return fmt.Sprintf("at most %d lines are allowed", MaxLines) }

// idFaults is apart from faults: a quote that was stored with longer IDs can be read.
func (l *Line) idFaults(i int, faults *ValidationError) {
	for _, text := range [...]struct{ field, id string }{{"id", l.ID}, {"itemId", l.ItemID}} {
		if !isShort(text.id) {
			faults.Add(linePath(i, text.field), FieldTooLong, fmt.Sprintf("at most %d characters are allowed", MaxLineIDLength))
		}
	}
}

// isShort counts the characters only of what has enough bytes for too many.
func isShort(id string) bool {
	return len(id) <= MaxLineIDLength || utf8.RuneCountInString(id) <= MaxLineIDLength
}

// textFaults is apart from idFaults: what is priced may have any ID, and JSON is UTF-8.
func (l *Line) textFaults(i int, faults *ValidationError) {
	for _, text := range [...]struct{ field, id string }{{"id", l.ID}, {"itemId", l.ItemID}} {
		if !utf8.ValidString(text.id) {
			faults.Add(linePath(i, text.field), FieldMalformed, "must be UTF-8")
		}
	}
}

func (l *Line) faults(i int, faults *ValidationError) {
	if l.Kind < Plan || l.Kind > Shipping {
		faults.Add(linePath(i, "kind"), FieldUnknown, "must be plan, device, accessory or shipping")
	}
	if l.Quantity < 1 {
		faults.Add(linePath(i, "quantity"), FieldTooSmall, "a quantity is at least 1")
	}
	if l.UnitPrice < 0 {
		faults.Add(linePath(i, "unitPrice"), FieldTooSmall, "a price is not negative")
	}
	if l.Recurs > Yearly {
		faults.Add(linePath(i, "recurs"), FieldUnknown, "must be day, week, month or year")
	} else if l.Recurs != Once && l.Kind != Plan {
		faults.Add(linePath(i, "recurs"), FieldNotAllowed, "only a plan recurs")
	}
	if _, ok := l.subtotal(); !ok && l.Quantity >= 1 && l.UnitPrice >= 0 {
		faults.Add(linePath(i, "unitPrice"), FieldOverflow, "price times quantity is too large")
	}
}

// wellFormed is faults and idFaults for the hot path: no message, no allocation.
func (l *Line) wellFormed() bool {
	return l.Kind >= Plan && l.Kind <= Shipping && (l.Recurs == Once || l.Kind == Plan && l.Recurs <= Yearly) &&
		isShort(l.ID) && isShort(l.ItemID)
}

// subtotal returns price times quantity; ok is false when either is out of
// bounds or the product leaves 64 bits.
func (l *Line) subtotal() (subtotal int64, ok bool) {
	if l.Quantity < 1 || l.UnitPrice < 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(l.UnitPrice), uint64(l.Quantity))
	return int64(low), high == 0 && low <= math.MaxInt64 //nolint:gosec // checked beside
}

// addAmounts adds two amounts of at least 0.
func addAmounts(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, sum >= 0
}

// goString shows a value of an enumeration by its word, or by its number if it has none.
func goString(name, word string, value uint8) string {
	if word == "" {
		word = strconv.Itoa(int(value))
	}
	return "pricing." + name + "(" + word + ")"
}
