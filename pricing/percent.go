package pricing

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

const (
	percentPlaces = 4
	// percentUnit and percentWhole are 1 % and 100 % in the units of Percent.
	percentUnit  = 10_000
	percentWhole = 100 * percentUnit
)

// Percent is an exact percentage greater than 0 and at most 100. A Percent has at most four
// decimals. Percent values are comparable with ==. The zero Percent stands for no
// percentage.
type Percent struct {
	units int32 // ten-thousandths of a percent
}

// ParsePercent converts text such as "12.5" to a percentage without rounding. ParsePercent
// returns a [*validation.Error] in these cases:
//
//   - The text is empty, or [Number.Decimal] refuses it.
//   - The percentage is 0 or less, or above 100.
//   - The percentage has more than four decimals.
func ParsePercent(text string) (Percent, error) {
	units, err := strictjson.ParseNumber(text, percentPlaces)
	if err != nil {
		return Percent{}, err
	}
	return percentOf(units)
}

// PercentFromDecimal converts a decimal number to a percentage without rounding. For the
// number 12.5, PercentFromDecimal returns 12.5 %. PercentFromDecimal returns a
// [*validation.Error] if the percentage is 0 or less, is above 100, or has more than four
// decimals. PercentFromDecimal also refuses a decimal number whose coefficient has more
// than 512 bits.
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
		return Percent{}, validation.New("", validation.TooSmall, "a percentage is greater than 0")
	case units > percentWhole:
		return Percent{}, validation.New("", validation.TooLarge, "a percentage is at most 100")
	}
	return Percent{units: int32(units)}, nil
}

// IsZero reports whether p is the zero Percent.
func (p Percent) IsZero() bool { return p.units == 0 }

// Equal reports whether p and r are the same percentage. Package go-cmp uses Equal to
// compare values.
func (p Percent) Equal(r Percent) bool { return p == r }

// Decimal returns the percentage as a decimal number. For 12.5 %, Decimal returns 12.5.
func (p Percent) Decimal() decimal.Decimal { return decimal.New(int64(p.units), -percentPlaces) }

// String returns the percentage without trailing zeros, such as "12.5".
func (p Percent) String() string {
	whole, fraction := p.units/percentUnit, p.units%percentUnit
	if fraction == 0 {
		return strconv.Itoa(int(whole))
	}
	return strings.TrimRight(fmt.Sprintf("%d.%04d", whole, fraction), "0")
}

// MarshalJSON returns the percentage as a JSON string, such as "12.5". For the zero
// Percent, MarshalJSON returns null.
func (p Percent) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(p.String())
}

// UnmarshalJSON reads a percentage from a JSON string or a JSON number. UnmarshalJSON
// returns the same errors as [Number.UnmarshalJSON] and [ParsePercent]. On error,
// UnmarshalJSON leaves its receiver unchanged. The JSON value null leaves the percentage
// unchanged.
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

// Of returns the percentage of an amount, rounded half up. Both the amount and the result
// are in minor units. For a negative amount, Of returns 0.
func (p Percent) Of(minor int64) int64 {
	if minor <= 0 {
		return 0
	}
	return mulDivRound(uint64(minor), uint64(p.units), percentWhole) //nolint:gosec // units is 0 to 1,000,000
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.Percent(12.5%)".
func (p Percent) GoString() string { return fmt.Sprintf("pricing.Percent(%s%%)", p) }
