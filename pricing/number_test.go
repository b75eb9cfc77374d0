package pricing_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 7: money and percent are decimal strings, numbers are
// accepted on input when exact.
func TestNumberKeepsTheTextOfStringsAndNumbers(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("1", 64)
	for document, want := range map[string]pricing.Number{
		`"12.50"`:               "12.50",
		`12.50`:                 "12.50",
		`0.1`:                   "0.1",
		`-3`:                    "-3",
		`1e2`:                   "1e2",
		`9007199254740993`:      "9007199254740993", // not a float64
		`"\u0031\u0032"`:        "12",
		`""`:                    "",
		`null`:                  "",
		`"abc"`:                 "abc", // judged by Decimal, where the field is known
		`"12,50"`:               "12,50",
		longest:                 pricing.Number(longest),
		`0.1000000000000000055`: "0.1000000000000000055",
	} {
		var got pricing.Number
		if err := json.Unmarshal([]byte(document), &got); err != nil || got != want {
			t.Errorf("Unmarshal(%s) = %q, %v; want %q", document, got, err, want)
		}
	}
}

func TestNumberRefusesOtherJSONTypes(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`true`, `{}`, `[1]`} {
		n := pricing.Number("7")
		err := json.Unmarshal([]byte(value), &n)
		require.ErrorIs(t, err, validation.ErrInvalid)
		require.EqualError(t, err, "invalid input: must be a decimal number, bare or as text", value)
		require.EqualValues(t, "7", n)
	}
	var n pricing.Number
	if err := n.UnmarshalJSON(nil); err == nil {
		t.Error("no bytes at all are accepted")
	}
	if err := n.UnmarshalJSON([]byte(`"open`)); err == nil {
		t.Error("an unterminated string is accepted")
	}
}

func TestNumberDecimalIsExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[pricing.Number]string{
		"0": "0", "-0": "0", "0.00": "0", "12.50": "12.5", "-12.5": "-12.5", "007": "7", "1e2": "100", "1E+2": "100",
		"12.5e-3": "0.0125", "1.5e1": "15", "0e64": "0", "18446744073709551617.000000000000000001": "18446744073709551617.000000000000000001",
		"1e64": "1" + strings.Repeat("0", 64), "1e-64": "0." + strings.Repeat("0", 63) + "1",
		pricing.Number(strings.Repeat("9", 64)): strings.Repeat("9", 64),
	} {
		d, err := text.Decimal()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		exact, ok := new(big.Rat).SetString(want)
		require.True(t, ok)
		if d.Rat().Cmp(exact) != 0 {
			t.Errorf("%s: got %s, want %s", text, d, want)
		}
	}
}

func TestNumberDecimalRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[pricing.Number]validation.Code{
		"":                                      validation.Required,
		"-":                                     validation.Malformed,
		"+1":                                    validation.Malformed,
		".5":                                    validation.Malformed,
		"5.":                                    validation.Malformed,
		".":                                     validation.Malformed,
		"1.-5":                                  validation.Malformed,
		"--1":                                   validation.Malformed,
		"1e":                                    validation.Malformed,
		"1e+":                                   validation.Malformed,
		"1e-+1":                                 validation.Malformed,
		"1e1.5":                                 validation.Malformed,
		"1f5":                                   validation.Malformed,
		"e5":                                    validation.Malformed,
		" 1":                                    validation.Malformed,
		"1 ":                                    validation.Malformed,
		"1,5":                                   validation.Malformed,
		"1_000":                                 validation.Malformed,
		"0x10":                                  validation.Malformed,
		"NaN":                                   validation.Malformed,
		"Infinity":                              validation.Malformed,
		"\u22121":                               validation.Malformed, // the typographic minus sign
		"\u0661":                                validation.Malformed, // a digit, but not one of ours
		"1\x00":                                 validation.Malformed,
		"1e65":                                  validation.TooLarge,
		"1e400":                                 validation.TooLarge,
		"0e400":                                 validation.TooLarge,
		"1e9999999":                             validation.TooLarge,
		"1e99999999999999999999999999":          validation.TooLarge,
		"1e-65":                                 validation.TooManyDecimals,
		"1e-9999999":                            validation.TooManyDecimals,
		pricing.Number(strings.Repeat("1", 65)): validation.TooLong,
		pricing.Number(strings.Repeat("0", 1_000_000)): validation.TooLong,
	} {
		_, err := text.Decimal()
		wantField(t, err, "", want)
	}
}

// A whole number is one in whatever exact form, and a digit costs a digit.
func TestNumberInt64(t *testing.T) {
	t.Parallel()
	for text, want := range map[pricing.Number]int64{
		"0": 0, "-0": 0, "3": 3, "3.0": 3, "3.000": 3, "3e0": 3, "3E2": 300, "3.5e1": 35, "30e-1": 3, "-7.0": -7, "0e64": 0, "0.0e-64": 0,
		"9223372036854775807": math.MaxInt64, "9.223372036854775807e18": math.MaxInt64, "-9223372036854775807.0": -math.MaxInt64,
		"9007199254740993.0": 9007199254740993, // not a float64
	} {
		if got, err := text.Int64(); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[pricing.Number]validation.Code{
		"": validation.Required, "x": validation.Malformed, `"3"`: validation.Malformed,
		"1.5": validation.TooManyDecimals, "3e-1": validation.TooManyDecimals, "1e-64": validation.TooManyDecimals, "1e-400": validation.TooManyDecimals,
		"9223372036854775808": validation.TooLarge, "-9223372036854775808": validation.TooLarge, "1e19": validation.TooLarge,
		"1e64": validation.TooLarge, "1e400": validation.TooLarge, "1e9999999": validation.TooLarge,
		pricing.Number("1." + strings.Repeat("0", 63)): validation.TooLong,
	} {
		_, err := text.Int64()
		wantField(t, err, "", want)
	}
}

// However long the text, no more is kept than tells that it is too long.
func TestNumberKeepsLittleOfOverlongText(t *testing.T) {
	t.Parallel()
	for _, document := range []string{strings.Repeat("1", 100_000), `"` + strings.Repeat("1", 100_000) + `"`} {
		var n pricing.Number
		require.NoError(t, json.Unmarshal([]byte(document), &n))
		if len(n) > 65 {
			t.Errorf("kept %d bytes", len(n))
		}
		_, err := n.Decimal()
		wantField(t, err, "", validation.TooLong)
	}
}

func TestNumberMarshalsAsString(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(pricing.Number("12.50"))
	if err != nil || string(got) != `"12.50"` {
		t.Errorf("got %s, %v", got, err)
	}
}
