package pricing

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// MaxLines and MaxLineIDLength limit the size of a cart.
const (
	// MaxLines is the maximum number of lines in a cart.
	MaxLines = 10_000
	// MaxLineIDLength is the maximum length of the ID and the ItemID of a line, in Unicode
	// code points.
	MaxLineIDLength = 255
)

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
// [*validation.Error] for an unknown name.
func ParseInterval(text string) (Interval, error) {
	for i := Once; i <= Yearly; i++ {
		if i.String() == text {
			return i, nil
		}
	}
	return 0, validation.New("", validation.Unknown, "must be day, week, month or year")
}

// MarshalText returns the JSON name of the interval, such as "month". For Once, MarshalText
// returns empty text. For an unknown interval, MarshalText returns a [*validation.Error].
func (i Interval) MarshalText() ([]byte, error) {
	if i > Yearly {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no interval", i))
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
	// ItemID is the caller's name for the plan, book, shipping option or other item. An
	// ItemID has at most [MaxLineIDLength] code points.
	ItemID string
	// Categories are the categories of the item, such as "sale". They are optional.
	Categories Categories
	// Quantity is the number of units in the line. It must be at least 1.
	Quantity int64
	// UnitPrice is the list price of one unit, in minor units. It must be at least 0. For a
	// subscription, UnitPrice is the price of the first billing period.
	UnitPrice int64
	// Class is the class of the line. If Class is 0, the line has the class that its kind
	// implies; see [LineKind.Class]. The kinds of the specification have no other class.
	Class Class
	// Recurs is the billing interval of a subscription. Other lines must have the interval
	// [Once].
	Recurs Interval
}

// ClassOf returns the class of the line. If the line names no class, ClassOf returns the
// class that its kind implies.
func (l *Line) ClassOf() Class {
	if l.Class != 0 {
		return l.Class
	}
	return l.Kind.Class()
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

// Validate checks the cart. Validate returns a [*validation.Error] in these cases:
//
//   - The currency of the cart is missing.
//   - The step of the cart is negative.
//   - The cart has more than [MaxLines] lines.
//   - An ID or an ItemID has more than [MaxLineIDLength] code points.
//   - The kind of a line is malformed, or its class or interval is unknown.
//   - A line of a kind of the specification has another class than the kind implies.
//   - The quantity of a line is less than 1.
//   - A unit price is negative or is not a multiple of the step.
//   - A line that is no subscription has an interval other than [Once].
//   - The price of a line, the sum of all lines or the sum of all quantities does not fit in
//     an int64.
func (c Cart) Validate() error {
	var faults validation.Error
	if c.Currency.IsZero() {
		faults.Add("currency", validation.Required, "a cart needs a currency")
	}
	stepFaults(c.Step, &faults)
	if len(c.Lines) > MaxLines {
		faults.Add("lines", validation.TooLong, tooManyLines())
		return faults.Err()
	}
	sum, summed := int64(0), true
	units, counted := int64(0), true
	for i := range c.Lines {
		l := &c.Lines[i]
		l.idFaults(i, &faults)
		l.faults(i, &faults)
		if !onStep(l.UnitPrice, c.Step) {
			offStep(linePath(i, "unitPrice"), l.UnitPrice, c.Currency, c.Step, &faults)
		}
		if counted && l.Quantity >= 1 {
			if units, counted = addAmounts(units, l.Quantity); !counted {
				faults.Add(linePath(i, "quantity"), validation.Overflow, "the cart's quantity is too large")
			}
		}
		subtotal, ok := l.subtotal()
		if !ok || !summed {
			continue
		}
		if sum, summed = addAmounts(sum, subtotal); !summed {
			faults.Add(linePath(i, "unitPrice"), validation.Overflow, "the cart's total is too large")
		}
	}
	return faults.Err()
}

func tooManyLines() string { return fmt.Sprintf("at most %d lines are allowed", MaxLines) }

// idFaults checks the lengths of the line's IDs. It is separate from faults, because stored quotes with
// longer IDs stay readable.
func (l *Line) idFaults(i int, faults *validation.Error) {
	for _, text := range [...]struct{ field, id string }{{"id", l.ID}, {"itemId", l.ItemID}} {
		if !isShort(text.id) {
			faults.Add(linePath(i, text.field), validation.TooLong, fmt.Sprintf("at most %d characters are allowed", MaxLineIDLength))
		}
	}
}

// isShort reports whether an ID has at most MaxLineIDLength characters. It counts characters only if
// there are more bytes than that.
func isShort(id string) bool {
	return len(id) <= MaxLineIDLength || utf8.RuneCountInString(id) <= MaxLineIDLength
}

// textFaults checks that the line's IDs are UTF-8. It is separate from idFaults: pricing accepts any
// bytes, and JSON does not.
func (l *Line) textFaults(i int, faults *validation.Error) {
	for _, text := range [...]struct{ field, id string }{{"id", l.ID}, {"itemId", l.ItemID}} {
		if !utf8.ValidString(text.id) {
			faults.Add(linePath(i, text.field), validation.Malformed, "must be UTF-8")
		}
	}
}

func (l *Line) faults(i int, faults *validation.Error) {
	if _, err := ParseLineKind(string(l.Kind)); err != nil {
		faults.At(linePath(i, "kind"), err)
	}
	if l.Class > ShippingClass {
		faults.Add(linePath(i, "class"), validation.Unknown, classMessage)
	} else if !l.classFits() {
		faults.Add(linePath(i, "class"), validation.Mismatch, fmt.Sprintf("the class of the kind %s is %s", l.Kind, l.Kind.Class()))
	}
	if l.Quantity < 1 {
		faults.Add(linePath(i, "quantity"), validation.TooSmall, "a quantity is at least 1")
	}
	if l.UnitPrice < 0 {
		faults.Add(linePath(i, "unitPrice"), validation.TooSmall, "a price is not negative")
	}
	if l.Recurs > Yearly {
		faults.Add(linePath(i, "recurs"), validation.Unknown, "must be day, week, month or year")
	} else if l.Recurs != Once && l.ClassOf() != SubscriptionClass {
		faults.Add(linePath(i, "recurs"), validation.NotAllowed, "only a subscription recurs")
	}
	if _, ok := l.subtotal(); !ok && l.Quantity >= 1 && l.UnitPrice >= 0 {
		faults.Add(linePath(i, "unitPrice"), validation.Overflow, "price times quantity is too large")
	}
}

// classFits reports whether the line's class agrees with its kind. Kinds that the specification does
// not name allow any class.
func (l *Line) classFits() bool {
	implied, known := l.Kind.implied()
	return l.Class == 0 || l.Class == implied || !known
}

// ordinary reports whether a line of a kind that the specification names needs no closer check. Its
// class is then the class that its kind implies.
func (l *Line) ordinary() bool {
	return l.Class == 0 && l.Recurs == Once && max(len(l.ID), len(l.ItemID)) <= MaxLineIDLength
}

// wellFormed makes the checks of faults and idFaults without messages and allocations, for the hot
// path. It returns the class of the line.
func (l *Line) wellFormed() (class Class, ok bool) {
	implied, known := l.Kind.implied()
	class = l.Class
	switch {
	case class == 0:
		class = implied
	case known && class != implied, class > ShippingClass:
		return 0, false
	}
	return class, (known || l.Kind.valid()) && isShort(l.ID) && isShort(l.ItemID) &&
		(l.Recurs == Once || class == SubscriptionClass && l.Recurs <= Yearly)
}

// subtotal returns price times quantity. ok is false if price or quantity is out of bounds, or if the
// product overflows 64 bits.
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

// goString formats a value of an enumeration by its word, or by its number if it has no word.
func goString(name, word string, value uint8) string {
	if word == "" {
		word = strconv.Itoa(int(value))
	}
	return "pricing." + name + "(" + word + ")"
}

func linePath(i int, field string) string { return fmt.Sprintf("lines[%d].%s", i, field) }
