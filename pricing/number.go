package pricing

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/validation"
)

const (
	// maxNumberText bounds the text of a number from outside, in bytes: longer
	// input is refused before it is parsed.
	maxNumberText = 64
	// maxNumberExponent bounds what may follow the e of "1e64". Without a bound,
	// nine characters ("1e9999999") cost their value in memory.
	maxNumberExponent = 64
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
	switch jsonKind(data) {
	case "null":
		return nil
	case "number":
		text = string(data)
	case "string":
		if _, err := jsonobject.Value(data); err != nil {
			return validation.New("", validation.Malformed, err.Error())
		}
		text = jsonobject.Text(data)
	default:
		return validation.New("", validation.Malformed, "must be a decimal number, bare or as text")
	}
	if len(text) > maxNumberText {
		text = strings.Clone(text[:maxNumberText+1])
	}
	*n = Number(text)
	return nil
}

// jsonKind names the JSON type of a value by its first byte.
func jsonKind(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	switch data[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "bool"
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	}
	return "number"
}

// Decimal returns the exact number. Decimal returns a [*validation.Error] if the text is
// empty, malformed or longer than 64 characters. Decimal also returns a [*validation.Error]
// if the exponent is below -64 or above 64.
func (n Number) Decimal() (decimal.Decimal, error) {
	scanned, err := scanNumber(string(n))
	if err != nil {
		return decimal.Decimal{}, err
	}
	coefficient, _ := new(big.Int).SetString(scanned.whole+scanned.fraction, 10) // digits only, as scanned
	if scanned.negative {
		coefficient.Neg(coefficient)
	}
	return decimal.NewFromBigInt(coefficient, int32(scanned.exponent-len(scanned.fraction))), nil //nolint:gosec // within -128 to 64
}

// DecimalText returns a decimal number as text without an exponent, such as "12.5". The
// text is a valid [Number]. DecimalText returns a [*validation.Error] for a number of more
// than 64 characters. The limit keeps numbers such as 1e1000000000 from exhausting memory.
func DecimalText(d decimal.Decimal) (string, error) {
	const mostBits = 4 * maxNumberText // of a coefficient: more than its digits can have
	switch coefficient, exponent := d.Coefficient(), d.Exponent(); {
	case coefficient.Sign() == 0:
		return "0", nil
	case exponent < -maxNumberText:
		return "", validation.New("", validation.TooManyDecimals, "the number has too many decimals")
	case exponent > maxNumberText || coefficient.BitLen() > mostBits:
		return "", validation.New("", validation.TooLarge, "the number is too large")
	}
	text := d.String()
	if len(text) > maxNumberText {
		return "", validation.New("", validation.TooLong, fmt.Sprintf("a number has at most %d characters", maxNumberText))
	}
	return text, nil
}

// Int64 returns the number as an int64. For "2", "2.0" and "2e0", Int64 returns 2. Int64
// returns a [*validation.Error] if the number is not whole or does not fit in an int64.
// Int64 also refuses the number math.MinInt64. Int64 also returns the errors of
// [Number.Decimal].
func (n Number) Int64() (int64, error) { return scaledText(string(n), 0) }

// scannedNumber is the text of a number taken apart.
type scannedNumber struct {
	whole, fraction string // digits before and after the point
	exponent        int
	negative        bool
}

func scanNumber(text string) (scannedNumber, error) {
	switch {
	case text == "":
		return scannedNumber{}, validation.New("", validation.Required, "a number is required")
	case len(text) > maxNumberText:
		return scannedNumber{}, validation.New("", validation.TooLong, fmt.Sprintf("a number has at most %d characters", maxNumberText))
	}
	var n scannedNumber
	rest, pointed := text, false
	rest, n.negative = strings.CutPrefix(rest, "-")
	n.whole, rest = cutDigits(rest)
	if rest, pointed = strings.CutPrefix(rest, "."); pointed {
		n.fraction, rest = cutDigits(rest)
	}
	if n.whole == "" || pointed && n.fraction == "" {
		return scannedNumber{}, malformedNumber(text)
	}
	if rest == "" {
		return n, nil
	}
	var ok bool
	if n.exponent, ok = scanExponent(rest); !ok {
		return scannedNumber{}, malformedNumber(text)
	}
	switch {
	case n.exponent > maxNumberExponent:
		return scannedNumber{}, validation.New("", validation.TooLarge, "the number is too large")
	case n.exponent < -maxNumberExponent:
		return scannedNumber{}, validation.New("", validation.TooManyDecimals, "the number has too many decimals")
	}
	return n, nil
}

// scanExponent reads "e-12". A value beyond four digits comes back as that.
func scanExponent(text string) (exponent int, ok bool) {
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text, negative := strings.CutPrefix(text[1:], "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	digits, rest := cutDigits(text)
	if digits == "" || rest != "" {
		return 0, false
	}
	for _, digit := range []byte(digits) {
		exponent = min(exponent*10+int(digit-'0'), 9999)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func cutDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// scaled returns the number times 10^places when that is a whole number whose
// magnitude 63 bits hold. It needs no big integers: without its trailing zeros,
// a number of too many digits is too large or too fine.
func (n scannedNumber) scaled(places int) (int64, error) {
	whole, fraction := strings.TrimLeft(n.whole, "0"), strings.TrimRight(n.fraction, "0")
	shift := n.exponent + places - len(fraction)
	if fraction == "" {
		trimmed := strings.TrimRight(whole, "0")
		shift += len(whole) - len(trimmed)
		whole = trimmed
	}
	if whole == "" && fraction == "" {
		return 0, nil
	}
	if shift < 0 {
		return 0, validation.New("", validation.TooManyDecimals, decimalsMessage(places))
	}
	value, ok := appendDigits(0, whole)
	if ok {
		value, ok = appendDigits(value, fraction)
	}
	for ; ok && shift > 0; shift-- {
		value, ok = appendDigits(value, "0")
	}
	if !ok {
		return 0, validation.New("", validation.TooLarge, "the number is too large")
	}
	if n.negative {
		value = -value
	}
	return value, nil
}

// appendDigits returns value with the digits written behind it.
func appendDigits(value int64, digits string) (result int64, ok bool) {
	for _, digit := range []byte(digits) {
		d := int64(digit - '0')
		if value > (math.MaxInt64-d)/10 {
			return 0, false
		}
		value = value*10 + d
	}
	return value, true
}

// scaledText is scaledDecimal for text, without allocating.
func scaledText(text string, places int) (int64, error) {
	n, err := scanNumber(text)
	if err != nil {
		return 0, err
	}
	return n.scaled(places)
}

// scaledDecimal returns d x 10^places when that is a whole number whose
// magnitude 63 bits hold.
func scaledDecimal(d decimal.Decimal, places int) (int64, error) {
	const (
		most = 512 // bits of a coefficient: far beyond any text, cheap to divide
		// fewest is the shift below which no coefficient of most bits, which has
		// 155 digits, is a whole number.
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
		return 0, validation.New("", validation.TooManyDecimals, decimalsMessage(places))
	default:
		rest := new(big.Int)
		coefficient.QuoRem(coefficient, pow10(-shift), rest)
		if rest.Sign() != 0 {
			return 0, validation.New("", validation.TooManyDecimals, decimalsMessage(places))
		}
	}
	if !coefficient.IsInt64() || coefficient.Int64() == math.MinInt64 {
		return 0, validation.New("", validation.TooLarge, "the number is too large")
	}
	return coefficient.Int64(), nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func malformedNumber(text string) error {
	return validation.New("", validation.Malformed, fmt.Sprintf("%q is not a decimal number", text))
}

func decimalsMessage(places int) string {
	if places == 0 {
		return "no decimals are allowed"
	}
	return fmt.Sprintf("at most %d decimals are allowed", places)
}
