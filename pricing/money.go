package pricing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Money is an amount in a currency, stored as a whole number of minor units. Money values
// are comparable with ==. The zero Money is the amount 0 without a currency.
type Money struct {
	minor    int64
	currency Currency
}

// NewMoney returns an amount in the given currency. NewMoney(1250, EUR()) is 12.50 EUR.
func NewMoney(minor int64, c Currency) Money { return Money{minor: minor, currency: c} }

// MoneyFromDecimal converts an amount in major units, such as 12.50, without rounding.
// MoneyFromDecimal returns a [*validation.Error] in these cases:
//
//   - The currency is the zero Currency.
//   - The amount has more decimals than the currency.
//   - The amount in minor units is above math.MaxInt64 or below -math.MaxInt64.
//   - The coefficient of the decimal number has more than 512 bits.
func MoneyFromDecimal(d decimal.Decimal, c Currency) (Money, error) {
	if c.IsZero() {
		return Money{}, errNoCurrency()
	}
	minor, err := scaledDecimal(d, c.Exponent())
	if err != nil {
		return Money{}, err
	}
	return Money{minor: minor, currency: c}, nil
}

// ParseMoney converts text in major units, such as "12.50", without rounding. ParseMoney
// returns a [*validation.Error] in these cases:
//
//   - The currency is the zero Currency.
//   - The text is empty, or [Number.Decimal] refuses it.
//   - The amount has more decimals than the currency.
//   - The amount in minor units is above math.MaxInt64 or below -math.MaxInt64.
func ParseMoney(text string, c Currency) (Money, error) {
	if c.IsZero() {
		return Money{}, errNoCurrency()
	}
	minor, err := strictjson.ParseNumber(text, c.Exponent())
	if err != nil {
		return Money{}, err
	}
	return Money{minor: minor, currency: c}, nil
}

func errNoCurrency() error {
	return validation.New("", validation.Required, "an amount needs a currency")
}

// Minor returns the amount in minor units.
func (m Money) Minor() int64 { return m.minor }

// Currency returns the currency of the amount.
func (m Money) Currency() Currency { return m.currency }

// IsZero reports whether the amount is 0, in any currency.
func (m Money) IsZero() bool { return m.minor == 0 }

// Decimal returns the exact amount in major units.
func (m Money) Decimal() decimal.Decimal {
	return decimal.New(m.minor, -int32(m.currency.Exponent())) //nolint:gosec // an exponent is 0 to 4
}

// Amount returns the amount in major units, with all decimals of the currency. For 1250
// minor units, Amount returns "12.50" in EUR and "1250" in JPY.
func (m Money) Amount() string { return formatMinor(m.minor, m.currency.Exponent()) }

// String returns the amount and the currency code, such as "12.50 EUR".
func (m Money) String() string {
	if m.currency.IsZero() {
		return m.Amount()
	}
	return m.Amount() + " " + m.currency.Code()
}

// GoString returns the text that package fmt prints for %#v, such as "pricing.Money(12.50
// EUR)".
func (m Money) GoString() string { return fmt.Sprintf("pricing.Money(%s)", m) }

// Equal reports whether m and n have the same amount and currency. Package go-cmp uses
// Equal to compare values.
func (m Money) Equal(n Money) bool { return m == n }

// Compare returns -1 for m < n, 0 for m == n, and +1 for m > n. Compare returns a
// [*validation.Error] if m and n have different currencies.
func (m Money) Compare(n Money) (int, error) {
	if m.currency != n.currency {
		return 0, validation.New("currency", validation.Mismatch, fmt.Sprintf("cannot compare %s with %s", m.currency, n.currency))
	}
	return cmp.Compare(m.minor, n.minor), nil
}

// Add returns the sum of m and n. Add returns a [*validation.Error] if m and n have
// different currencies or if the sum does not fit in an int64.
func (m Money) Add(n Money) (Money, error) {
	if m.currency != n.currency {
		return Money{}, validation.New("currency", validation.Mismatch, fmt.Sprintf("cannot add %s and %s", m.currency, n.currency))
	}
	sum := m.minor + n.minor
	if (sum > m.minor) != (n.minor > 0) {
		return Money{}, validation.New("", validation.Overflow, "the sum of the amounts is too large")
	}
	return Money{minor: sum, currency: m.currency}, nil
}

// MarshalJSON returns the amount as a JSON string with all decimals of the currency, such
// as "12.50". The JSON string does not contain the currency, so [Money.UnmarshalJSON]
// cannot read it.
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.Amount()) }

// UnmarshalJSON returns an error for all JSON except null, because the JSON does not
// contain the currency. The JSON value null leaves the amount unchanged. To read an amount
// from JSON, unmarshal a [Number] and convert it with [ParseMoney].
func (m *Money) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return errors.New("an amount in JSON does not tell its currency: read a pricing.Number and convert it with pricing.ParseMoney")
}

// Format converts an amount from minor units to text in major units. For 1250 minor units
// of EUR, Format returns "12.50".
func (c Currency) Format(minor int64) string { return formatMinor(minor, c.Exponent()) }

// Number is like Format, but returns a [Number]. Without a currency, the Number is in minor units,
// because nobody knows the decimals.
func (c Currency) Number(minor int64) Number { return Number(c.Format(minor)) }

// OptionalNumber is like Number, but returns the empty Number for 0.
func (c Currency) OptionalNumber(minor int64) Number {
	if minor == 0 {
		return ""
	}
	return c.Number(minor)
}

// Parse converts text in major units, such as "12.50", to minor units. Parse returns the
// same errors as [ParseMoney].
func (c Currency) Parse(text string) (int64, error) {
	m, err := ParseMoney(text, c)
	return m.minor, err
}

func formatMinor(minor int64, exponent int) string {
	var buf [32]byte
	return string(appendMinor(buf[:0], minor, exponent))
}

func appendMinor(dst []byte, minor int64, exponent int) []byte {
	magnitude := uint64(minor) //nolint:gosec // two's complement: negated below
	if minor < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	var digits [24]byte
	at := len(digits)
	for n := 0; magnitude > 0 || n <= exponent; n++ {
		if n == exponent && exponent > 0 {
			at--
			digits[at] = '.'
		}
		at--
		digits[at] = byte('0' + magnitude%10)
		magnitude /= 10
	}
	return append(dst, digits[at:]...)
}
