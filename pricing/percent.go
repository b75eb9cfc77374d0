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

// Percent is an exact percentage greater than 0 and at most 100. It has at most four
// decimals. It is comparable with ==. The zero value means no percentage.
type Percent struct {
	units int32 // ten-thousandths of a percent
}

// ParsePercent converts text such as "12.5" without rounding. A value of 0 or less,
// above 100 or with more than four decimals is a [*ValidationError].
func ParsePercent(text string) (Percent, error) {
	units, err := scaledText(text, percentPlaces)
	if err != nil {
		return Percent{}, err
	}
	return percentOf(units)
}

// PercentFromDecimal converts a number without rounding: 12.5 means 12.5 %. It returns
// the errors of [ParsePercent].
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

// IsZero reports whether p is the zero value, which means no percentage.
func (p Percent) IsZero() bool { return p.units == 0 }

// Equal reports whether p and r are the same percentage. go-cmp uses it.
func (p Percent) Equal(r Percent) bool { return p == r }

// Decimal returns the exact percentage: 12.5 for 12.5 %.
func (p Percent) Decimal() decimal.Decimal { return decimal.New(int64(p.units), -percentPlaces) }

// String returns the percentage without trailing zeros, such as "12.5".
func (p Percent) String() string { return p.Decimal().String() }

// MarshalJSON returns the percentage as a string, such as "12.5". The zero value is
// null.
func (p Percent) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(p.String())
}

// UnmarshalJSON reads a percentage from a JSON string or number. It returns the errors
// of [ParsePercent]. After an error, or for null, p stays unchanged.
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

// Of returns p percent of an amount in minor units, rounded half up. A negative amount
// returns 0.
func (p Percent) Of(minor int64) int64 {
	if minor <= 0 {
		return 0
	}
	return mulDivRound(uint64(minor), uint64(p.units), percentWhole) //nolint:gosec // units is 0 to 1,000,000
}

// GoString returns text for %#v, such as "pricing.Percent(12.5%)".
func (p Percent) GoString() string { return fmt.Sprintf("pricing.Percent(%s%%)", p) }
