package strictjson

import (
	"fmt"
	"math"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

const (
	// MaxNumberText bounds the text of a number from outside, in bytes: longer
	// input is refused before it is parsed.
	MaxNumberText = 64
	// MaxNumberExponent bounds what may follow the e of "1e64". Without a bound,
	// nine characters ("1e9999999") cost their value in memory.
	MaxNumberExponent = 64
)

// Number is the text of a decimal number taken apart.
type Number struct {
	Whole, Fraction string // digits before and after the point
	Exponent        int
	Negative        bool
}

// ScanNumber takes a decimal number apart. It returns a [*validation.Error] for any other text, and
// for a number beyond the bounds.
func ScanNumber(text string) (Number, error) {
	switch {
	case text == "":
		return Number{}, validation.New("", validation.Required, "a number is required")
	case len(text) > MaxNumberText:
		return Number{}, validation.New("", validation.TooLong, fmt.Sprintf("a number has at most %d characters", MaxNumberText))
	}
	var n Number
	rest, pointed := text, false
	rest, n.Negative = strings.CutPrefix(rest, "-")
	n.Whole, rest = cutDigits(rest)
	if rest, pointed = strings.CutPrefix(rest, "."); pointed {
		n.Fraction, rest = cutDigits(rest)
	}
	if n.Whole == "" || pointed && n.Fraction == "" {
		return Number{}, malformedNumber(text)
	}
	if rest == "" {
		return n, nil
	}
	var ok bool
	if n.Exponent, ok = scanExponent(rest); !ok {
		return Number{}, malformedNumber(text)
	}
	switch {
	case n.Exponent > MaxNumberExponent:
		return Number{}, validation.New("", validation.TooLarge, "the number is too large")
	case n.Exponent < -MaxNumberExponent:
		return Number{}, validation.New("", validation.TooManyDecimals, "the number has too many decimals")
	}
	return n, nil
}

// scanExponent reads an exponent such as "e-12". Greater exponents than 9999 count as 9999.
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

// Scaled returns the number times 10^places when that is a whole number whose
// magnitude 63 bits hold. It needs no big integers: without its trailing zeros,
// a number of too many digits is too large or too fine.
func (n Number) Scaled(places int) (int64, error) {
	whole, fraction := strings.TrimLeft(n.Whole, "0"), strings.TrimRight(n.Fraction, "0")
	shift := n.Exponent + places - len(fraction)
	if fraction == "" {
		trimmed := strings.TrimRight(whole, "0")
		shift += len(whole) - len(trimmed)
		whole = trimmed
	}
	if whole == "" && fraction == "" {
		return 0, nil
	}
	if shift < 0 {
		return 0, validation.New("", validation.TooManyDecimals, DecimalsMessage(places))
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
	if n.Negative {
		value = -value
	}
	return value, nil
}

// appendDigits appends the digits to value, as in decimal notation.
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

// ParseNumber returns the number in the text times 10^places, without allocating. It returns the
// errors of [ScanNumber] and [Number.Scaled].
func ParseNumber(text string, places int) (int64, error) {
	n, err := ScanNumber(text)
	if err != nil {
		return 0, err
	}
	return n.Scaled(places)
}

func malformedNumber(text string) error {
	return validation.New("", validation.Malformed, fmt.Sprintf("%q is not a decimal number such as 12.50", text))
}

// DecimalsMessage is what is wrong with a number that has more decimals.
func DecimalsMessage(places int) string {
	if places == 0 {
		return "no decimals are allowed"
	}
	return fmt.Sprintf("at most %d decimals are allowed", places)
}
