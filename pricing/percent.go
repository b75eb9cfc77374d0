package pricing

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"
)

const (
	percentPlaces = 4
	// percentWhole is 100 % in the units of Percent.
	percentWhole = 100 * 10_000
)

// Percent is an exact percentage, greater than 0, at most 100, with at most four
// decimals. It is a comparable value. The zero value is no percentage.
type Percent struct {
	units int32 // ten-thousandths of a percent
}

// ParsePercent converts text such as "12.5" exactly. A value outside (0, 100] or
// with more than four decimals is a [*ValidationError].
func ParsePercent(text string) (Percent, error) {
	units, err := scaledText(text, percentPlaces)
	if err != nil {
		return Percent{}, err
	}
	return percentOf(units)
}

// PercentFromDecimal converts 12.5 to 12.5 %; see [ParsePercent].
func PercentFromDecimal(d decimal.Decimal) (Percent, error) {
	units, err := scaledDecimal(d, percentPlaces)
	if err != nil {
		return Percent{}, err
	}
	return percentOf(units)
}

func percentOf(units int64) (Percent, error) {
	switch {
	case units <= 0:
		return Percent{}, invalid("", FieldTooSmall, "a percentage is greater than 0")
	case units > percentWhole:
		return Percent{}, invalid("", FieldTooLarge, "a percentage is at most 100")
	}
	return Percent{units: int32(units)}, nil
}

// IsZero reports whether p is no percentage.
func (p Percent) IsZero() bool { return p.units == 0 }

// Equal reports whether p and r are the same percentage, as == does; go-cmp
// finds it.
func (p Percent) Equal(r Percent) bool { return p == r }

// Decimal returns the percentage exactly: 12.5 for 12.5 %.
func (p Percent) Decimal() decimal.Decimal { return decimal.New(int64(p.units), -percentPlaces) }

// String returns the percentage without trailing zeros: "12.5".
func (p Percent) String() string { return p.Decimal().String() }

// MarshalJSON returns the percentage as a string: "12.5". No percentage is null.
func (p Percent) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(p.String())
}

// UnmarshalJSON reads a percentage from a string or an exact number (see
// [Number]) with the bounds of [ParsePercent]. null leaves p as it is.
func (p *Percent) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var n Number
	if err := n.UnmarshalJSON(data); err != nil {
		return err
	}
	parsed, err := ParsePercent(string(n))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// Of returns p percent of a non-negative amount of minor units, rounded half-up
// to a whole minor unit. A negative amount yields 0.
func (p Percent) Of(minor int64) int64 {
	if minor <= 0 {
		return 0
	}
	return mulDivRound(uint64(minor), uint64(p.units), percentWhole) //nolint:gosec // units is 0 to 1,000,000
}

// GoString shows the value in test failures.
func (p Percent) GoString() string { return fmt.Sprintf("pricing.Percent(%s%%)", p) }
