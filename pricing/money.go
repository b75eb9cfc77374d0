package pricing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// Money is an amount in a currency, held as integer minor units. It is a
// comparable value: == tells whether two are equal. The zero value is 0 in no
// currency.
type Money struct {
	minor    int64
	currency Currency
}

// NewMoney returns the amount of that many minor units (cents for EUR).
func NewMoney(minor int64, c Currency) Money { return Money{minor: minor, currency: c} }

// MoneyFromDecimal converts a decimal amount in major units ("12.50") exactly.
// More decimals than the currency has, or an amount outside 64 bits of minor
// units, is a [*ValidationError]; nothing is rounded.
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

// ParseMoney converts text such as "12.50" exactly. The text is that of a
// [Number]; see [MoneyFromDecimal] for the bounds.
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

// Minor returns the minor units.
func (m Money) Minor() int64 { return m.minor }

// Currency returns the currency.
func (m Money) Currency() Currency { return m.currency }

// IsZero reports whether the amount is 0, whatever the currency.
func (m Money) IsZero() bool { return m.minor == 0 }

// Decimal returns the amount in major units, exactly.
func (m Money) Decimal() decimal.Decimal {
	return decimal.New(m.minor, -int32(m.currency.Exponent())) //nolint:gosec // an exponent is 0 to 4
}

// Amount returns the amount in major units with exactly the currency's
// decimals: "12.50", "1250" for JPY.
func (m Money) Amount() string { return formatMinor(m.minor, m.currency.Exponent()) }

// String returns the amount and the code: "12.50 EUR".
func (m Money) String() string {
	if m.currency.IsZero() {
		return m.Amount()
	}
	return m.Amount() + " " + m.currency.Code()
}

// GoString shows the value in test failures.
func (m Money) GoString() string { return fmt.Sprintf("pricing.Money(%s)", m) }

// Equal reports whether m and n are the same amount of the same currency, as ==
// does; go-cmp finds it.
func (m Money) Equal(n Money) bool { return m == n }

// Compare returns -1, 0 or +1 as m is less than, equal to or greater than n.
// Amounts of two currencies have no order: that is an error.
func (m Money) Compare(n Money) (int, error) {
	if m.currency != n.currency {
		return 0, invalid("currency", FieldMismatch, fmt.Sprintf("cannot compare %s with %s", m.currency, n.currency))
	}
	return cmp.Compare(m.minor, n.minor), nil
}

// Add returns m + n. Two currencies, or a sum outside 64 bits, are an error.
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

// MarshalJSON returns the amount as a string with the currency's decimals:
// "12.50". The currency is not part of it, and so it cannot be read back: see
// [Money.UnmarshalJSON].
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.Amount()) }

// UnmarshalJSON refuses all but null, which leaves m as it is: an amount in JSON does not
// tell its currency. Read a [Number], and convert it with [ParseMoney] when the currency is
// known.
func (m *Money) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return errors.New("an amount in JSON does not tell its currency: read a pricing.Number and convert it with pricing.ParseMoney")
}

// Format returns minor units of the currency as text with exactly its decimals:
// 1250 of EUR is "12.50".
func (c Currency) Format(minor int64) string { return formatMinor(minor, c.Exponent()) }

// Parse converts text such as "12.50" to minor units, exactly; see
// [MoneyFromDecimal].
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
