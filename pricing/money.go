package pricing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// Money is an amount in a currency, stored as integer minor units. It is comparable
// with ==. The zero value is 0 without a currency.
type Money struct {
	minor    int64
	currency Currency
}

// NewMoney returns an amount of minor units, such as cents for EUR.
func NewMoney(minor int64, c Currency) Money { return Money{minor: minor, currency: c} }

// MoneyFromDecimal converts an amount in major units, such as 12.50, without rounding.
// Too many decimals for the currency, or minor units beyond 64 bits, are a
// [*ValidationError].
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

// ParseMoney converts text in major units, such as "12.50", without rounding. The
// syntax is that of a [Number]. Malformed text is a [*ValidationError], like the errors
// of [MoneyFromDecimal].
func ParseMoney(text string, c Currency) (Money, error) {
	if c.IsZero() {
		return Money{}, errNoCurrency()
	}
	minor, err := scaledText(text, c.Exponent())
	if err != nil {
		return Money{}, err
	}
	return Money{minor: minor, currency: c}, nil
}

func errNoCurrency() error { return invalid("", FieldRequired, "an amount needs a currency") }

// Minor returns the amount in minor units.
func (m Money) Minor() int64 { return m.minor }

// Currency returns the currency.
func (m Money) Currency() Currency { return m.currency }

// IsZero reports whether the amount is 0, in any currency.
func (m Money) IsZero() bool { return m.minor == 0 }

// Decimal returns the exact amount in major units.
func (m Money) Decimal() decimal.Decimal {
	return decimal.New(m.minor, -int32(m.currency.Exponent())) //nolint:gosec // an exponent is 0 to 4
}

// Amount returns the amount in major units with exactly the currency's decimals:
// "12.50" for EUR, "1250" for JPY.
func (m Money) Amount() string { return formatMinor(m.minor, m.currency.Exponent()) }

// String returns the amount and the currency code, such as "12.50 EUR".
func (m Money) String() string {
	if m.currency.IsZero() {
		return m.Amount()
	}
	return m.Amount() + " " + m.currency.Code()
}

// GoString returns text for %#v, such as "pricing.Money(12.50 EUR)".
func (m Money) GoString() string { return fmt.Sprintf("pricing.Money(%s)", m) }

// Equal reports whether m and n have the same amount and currency. go-cmp uses it.
func (m Money) Equal(n Money) bool { return m == n }

// Compare returns -1 if m is less than n, 0 if they are equal, and +1 if m is greater.
// Different currencies are a [*ValidationError].
func (m Money) Compare(n Money) (int, error) {
	if m.currency != n.currency {
		return 0, invalid("currency", FieldMismatch, fmt.Sprintf("cannot compare %s with %s", m.currency, n.currency))
	}
	return cmp.Compare(m.minor, n.minor), nil
}

// Add returns m + n. Different currencies, or a sum beyond 64 bits, are a
// [*ValidationError].
func (m Money) Add(n Money) (Money, error) {
	if m.currency != n.currency {
		return Money{}, invalid("currency", FieldMismatch, fmt.Sprintf("cannot add %s and %s", m.currency, n.currency))
	}
	sum := m.minor + n.minor
	if (sum > m.minor) != (n.minor > 0) {
		return Money{}, invalid("", FieldOverflow, "the sum of the amounts is too large")
	}
	return Money{minor: sum, currency: m.currency}, nil
}

// MarshalJSON returns the amount as a string with the currency's decimals, such as
// "12.50". The currency is not included, so [Money.UnmarshalJSON] cannot read it.
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.Amount()) }

// UnmarshalJSON returns an error for everything except null, which leaves m unchanged.
// Read a [Number] instead, and convert it with [ParseMoney].
func (m *Money) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return errors.New("an amount in JSON does not tell its currency: read a pricing.Number and convert it with pricing.ParseMoney")
}

// Format returns minor units as text in major units: 1250 of EUR is "12.50".
func (c Currency) Format(minor int64) string { return formatMinor(minor, c.Exponent()) }

// Parse converts text in major units, such as "12.50", to minor units. It returns the
// errors of [ParseMoney].
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
