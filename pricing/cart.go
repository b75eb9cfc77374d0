package pricing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// MaxLines and MaxLineIDLength limit the size of a cart.
const (
	// MaxLines is the maximum number of lines in a cart.
	MaxLines = 10_000
	// MaxLineIDLength is the maximum length of the ID and the ItemID of a line, in Unicode
	// code points.
	MaxLineIDLength = 255
)

// LineKind is the kind of item that a cart line sells.
type LineKind uint8

// Plan, Device, Accessory and Shipping are the kinds of items that a cart line can sell.
// The word PRODUCT in the specification means [Device] or [Accessory].
const (
	// Plan means that the line sells a subscription plan.
	Plan LineKind = iota + 1
	// Device means that the line sells a device.
	Device
	// Accessory means that the line sells an accessory.
	Accessory
	// Shipping means that the line sells shipping. Shipping lines are never discounted.
	Shipping
)

// String returns the JSON name of the line kind: "plan", "device", "accessory" or
// "shipping". For an unknown line kind, String returns the empty string.
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

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.LineKind(plan)".
func (k LineKind) GoString() string { return goString("LineKind", k.String(), uint8(k)) }

// ParseLineKind returns the line kind with the given JSON name, such as "plan". The name is
// case-sensitive. ParseLineKind returns a [*ValidationError] for an unknown or empty name.
func ParseLineKind(text string) (LineKind, error) {
	for k := Plan; k <= Shipping; k++ {
		if k.String() == text {
			return k, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be plan, device, accessory or shipping")
}

// MarshalText returns the JSON name of the line kind, such as "plan". For the zero
// LineKind, MarshalText returns empty text. For an unknown line kind, MarshalText
// returns a [*ValidationError].
func (k LineKind) MarshalText() ([]byte, error) {
	if k > Shipping {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no kind of line", k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText parses the JSON name of a line kind, like [ParseLineKind]. On error,
// UnmarshalText sets the line kind to 0.
func (k *LineKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseLineKind(string(text))
	return err
}

// Interval is the length of one billing period of a plan.
type Interval uint8

// Once, Daily, Weekly, Monthly and Yearly are the billing intervals. The zero Interval is
// Once. An item with the interval Once is paid a single time.
const (
	Once Interval = iota
	Daily
	Weekly
	Monthly
	Yearly
)

// String returns the JSON name of the interval: "day", "week", "month" or "year". For
// [Once] and for unknown intervals, String returns the empty string.
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

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.Interval(month)".
func (i Interval) GoString() string { return goString("Interval", i.String(), uint8(i)) }

// ParseInterval returns the interval with the given JSON name, such as "month". The name is
// case-sensitive. For an empty name, ParseInterval returns [Once]. ParseInterval returns a
// [*ValidationError] for an unknown name.
func ParseInterval(text string) (Interval, error) {
	for i := Once; i <= Yearly; i++ {
		if i.String() == text {
			return i, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be day, week, month or year")
}

// MarshalText returns the JSON name of the interval, such as "month". For Once, MarshalText
// returns empty text. For an unknown interval, MarshalText returns a [*ValidationError].
func (i Interval) MarshalText() ([]byte, error) {
	if i > Yearly {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no interval", i))
	}
	return []byte(i.String()), nil
}

// UnmarshalText parses the JSON name of an interval, like [ParseInterval]. On error,
// UnmarshalText sets the interval to [Once].
func (i *Interval) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInterval(string(text))
	return err
}

// Line is one line of a cart: an item with its quantity and its price. A Line cannot be
// marshaled to JSON on its own. Marshal the whole [Cart] instead.
type Line struct {
	// ID is the caller's name for the line. An ID has at most [MaxLineIDLength] code
	// points. The ID does not influence the price.
	ID string
	// Kind is the kind of item that the line sells.
	Kind LineKind
	// ItemID is the caller's name for the plan, device, accessory or shipping option.
	// An ItemID has at most [MaxLineIDLength] code points.
	ItemID string
	// Quantity is the number of units in the line. It must be at least 1.
	Quantity int64
	// UnitPrice is the list price of one unit, in minor units. It must be at least 0. For a
	// plan, UnitPrice is the price of the first billing period.
	UnitPrice int64
	// Recurs is the billing interval of a plan. Lines that are not plans must have the
	// interval [Once].
	Recurs Interval
}

// Cart lists the items that a customer wants to buy, in one currency. Functions of this
// package do not keep a reference to a cart. See [Cart.MarshalJSON] for the JSON form of a
// cart.
type Cart struct {
	// Currency is the currency of all prices in the cart. It is required.
	Currency Currency
	// Step is the smallest amount that can be charged, in minor units. Every unit price in
	// the cart must be a multiple of Step. For example, a payment processor that charges
	// dinars in multiples of 0.010 needs a Step of 10. A Step of 0 or 1 allows every whole
	// number of minor units.
	Step int64
	// Lines are the lines of the cart. A cart has at most [MaxLines] lines. A cart without
	// lines is valid and costs 0. The sequence of lines affects the rounding of discounts;
	// see the package documentation.
	Lines []Line
}

// Validate checks the cart. Validate returns a [*ValidationError] in these cases:
//
//   - The currency of the cart is missing.
//   - The step of the cart is negative.
//   - The cart has more than [MaxLines] lines.
//   - An ID or an ItemID has more than [MaxLineIDLength] code points.
//   - The kind or the interval of a line is unknown.
//   - The quantity of a line is less than 1.
//   - A unit price is negative or is not a multiple of the step.
//   - A line that is not a plan has an interval other than [Once].
//   - The price of a line or the sum of all lines does not fit in an int64.
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
