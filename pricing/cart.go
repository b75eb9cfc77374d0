package pricing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// The sizes of a cart. Whatever keeps them has a stored form that can be read again.
const (
	MaxLines        = 10_000
	MaxLineIDLength = 255 // code points of a line's ID and of its ItemID
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

// String returns the wire name: "plan", "device", "accessory" or "shipping", and
// "" for a value that is no kind.
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

// GoString shows the value in test failures.
func (k LineKind) GoString() string { return goString("LineKind", k.String(), uint8(k)) }

// ParseLineKind finds a kind by its wire name, letter by letter. Any other text,
// the empty one too, is a [*ValidationError].
func ParseLineKind(text string) (LineKind, error) {
	for k := Plan; k <= Shipping; k++ {
		if k.String() == text {
			return k, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be plan, device, accessory or shipping")
}

// MarshalText returns the wire name. The zero value is the empty text; a value
// that is no kind is an error.
func (k LineKind) MarshalText() ([]byte, error) {
	if k > Shipping {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no kind of line", k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText is [ParseLineKind]; after an error k is zero.
func (k *LineKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseLineKind(string(text))
	return err
}

// Interval is the length of one billing period.
type Interval uint8

// The intervals. The zero value is a line that is paid once.
const (
	Once Interval = iota
	Daily
	Weekly
	Monthly
	Yearly
)

// String returns the wire name: "", "day", "week", "month" or "year", and "" for a
// value that is no interval.
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

// GoString shows the value in test failures.
func (i Interval) GoString() string { return goString("Interval", i.String(), uint8(i)) }

// ParseInterval finds an interval by its wire name; the empty text is [Once]. Any
// other text is a [*ValidationError].
func ParseInterval(text string) (Interval, error) {
	for i := Once; i <= Yearly; i++ {
		if i.String() == text {
			return i, nil
		}
	}
	return 0, invalid("", FieldUnknown, "must be day, week, month or year")
}

// MarshalText returns the wire name; a value that is no interval is an error.
func (i Interval) MarshalText() ([]byte, error) {
	if i > Yearly {
		return nil, invalid("", FieldUnknown, fmt.Sprintf("%d is no interval", i))
	}
	return []byte(i.String()), nil
}

// UnmarshalText is [ParseInterval]; after an error i is [Once].
func (i *Interval) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInterval(string(text))
	return err
}

// Line is one position of a cart. By itself it has no JSON form, for it does not know the
// currency of its price; see [Cart.MarshalJSON].
type Line struct {
	// ID names the line within its cart, for the caller; pricing does not read it. It
	// has at most [MaxLineIDLength] code points.
	ID string
	// Kind tells what is sold.
	Kind LineKind
	// ItemID names the plan, device, accessory or shipping option, in at most
	// [MaxLineIDLength] code points.
	ItemID string
	// Quantity is at least 1.
	Quantity int64
	// UnitPrice is the list price of one unit in minor units, at least 0.
	UnitPrice int64
	// Recurs is how often a plan is paid again; [Once] for everything else. The
	// price is that of the first period.
	Recurs Interval
}

// Cart is what a customer is about to buy, in one currency. Pricing reads it and
// keeps no part of its memory. In JSON its amounts are decimal; see [Cart.MarshalJSON].
type Cart struct {
	// Currency is that of every price.
	Currency Currency
	// Step is the step of chargeable amounts in minor units, for currencies that a
	// payment processor does not charge to the last decimal: 10 where the third
	// decimal of a dinar has to be 0. 0 and 1 are no step. With a step every price
	// is a multiple of it, and so is every amount of the quote: the discount is
	// rounded to it and spread in it.
	Step int64
	// Lines are at most [MaxLines], in the customer's order, which decides ties.
	// A cart without lines is valid and costs nothing.
	Lines []Line
}

// Validate returns a [*ValidationError] that lists every fault of the cart: no
// currency, a negative step, too many lines, an ID that is too long, an unknown
// kind, a quantity below 1, a price that is negative or off the step, an interval on
// something that is no plan, a line or a sum that overflows 64 bits.
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
