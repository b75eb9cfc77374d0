package pricing

import (
	"math"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Number is the text of a decimal number, such as "12.50". A Number keeps every digit of
// the JSON string or JSON number that it was read from. The empty Number stands for a
// missing number. A Number is marshaled as a JSON string.
//
// [Number.Decimal], [Number.Int64], [ParseMoney] and [ParsePercent] convert a Number. All
// conversions accept JSON numbers of at most 64 characters, even with leading zeros. The
// exponent must be between -64 and 64, inclusive.
type Number string

// UnmarshalJSON stores the text of a JSON string or a JSON number without checking the
// text. The JSON value null leaves the Number unchanged. For any other JSON type,
// UnmarshalJSON returns a [*validation.Error]. UnmarshalJSON stores at most the
// first 65 bytes of the text. All conversions refuse a text of 65 bytes as too long.
func (n *Number) UnmarshalJSON(data []byte) error {
	var text string
	switch {
	case string(data) == "null":
		return nil
	case len(data) > 0 && data[0] == '"':
		if err := strictjson.Value(data, &text); err != nil {
			return err
		}
	case len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9'):
		text = string(data)
	default:
		return validation.New("", validation.Malformed, "must be a decimal number, bare or as text")
	}
	if len(text) > strictjson.MaxNumberText {
		text = strings.Clone(text[:strictjson.MaxNumberText+1])
	}
	*n = Number(text)
	return nil
}

// Minor returns the amount that [Currency.Number] or [Currency.OptionalNumber] returned as text, in
// minor units. The empty Number is 0. Without a currency, the Number is in minor units. Minor
// returns a [*validation.Error] if the Number is malformed.
func (n Number) Minor(c Currency) (int64, error) {
	switch {
	case n == "":
		return 0, nil
	case c.IsZero():
		return n.Int64()
	}
	return c.Parse(string(n))
}

// Decimal returns the exact number. Decimal returns a [*validation.Error] if the text is
// empty, malformed or longer than 64 characters. Decimal also returns a [*validation.Error]
// if the exponent is below -64 or above 64.
func (n Number) Decimal() (decimal.Decimal, error) {
	scanned, err := strictjson.ScanNumber(string(n))
	if err != nil {
		return decimal.Decimal{}, err
	}
	coefficient, _ := new(big.Int).SetString(scanned.Whole+scanned.Fraction, 10) // scanned, so it has only digits
	if scanned.Negative {
		coefficient.Neg(coefficient)
	}
	return decimal.NewFromBigInt(coefficient, int32(scanned.Exponent-len(scanned.Fraction))), nil //nolint:gosec // within -128 to 64
}

// Int64 returns the number as an int64. For "2", "2.0" and "2e0", Int64 returns 2. Int64
// returns a [*validation.Error] if the number is not whole or does not fit in an int64.
// Int64 also refuses the number math.MinInt64. Int64 also returns the errors of
// [Number.Decimal].
func (n Number) Int64() (int64, error) { return strictjson.ParseNumber(string(n), 0) }

// scaledDecimal returns d x 10^places if the result is a whole number that fits 63 bits.
func scaledDecimal(d decimal.Decimal, places int) (int64, error) {
	const (
		most = 512 // maximum bits of a coefficient: more than any text has, and still cheap to divide
		// fewest bounds the shift from below. A coefficient of most bits has 155 digits. Below this
		// shift, no such coefficient gives a whole number.
		fewest = -155
	)
	coefficient, shift := d.Coefficient(), int(d.Exponent())+places
	switch {
	case coefficient.Sign() == 0:
		return 0, nil
	case shift > 18 || coefficient.BitLen() > most:
		return 0, validation.New("", validation.TooLarge, "the number is too large")
	case shift >= 0:
		coefficient.Mul(coefficient, pow10(shift))
	case shift < fewest:
		return 0, validation.New("", validation.TooManyDecimals, strictjson.DecimalsMessage(places))
	default:
		rest := new(big.Int)
		coefficient.QuoRem(coefficient, pow10(-shift), rest)
		if rest.Sign() != 0 {
			return 0, validation.New("", validation.TooManyDecimals, strictjson.DecimalsMessage(places))
		}
	}
	if !coefficient.IsInt64() || coefficient.Int64() == math.MinInt64 {
		return 0, validation.New("", validation.TooLarge, "the number is too large")
	}
	return coefficient.Int64(), nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
