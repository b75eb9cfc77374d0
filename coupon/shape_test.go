package coupon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// Shapes of the same codes are equal after Normalize.
func TestTheShapeOfCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ shape, want coupon.CodeShape }{
		"the zero shape": {coupon.CodeShape{}, coupon.CodeShape{Symbols: 12, Pattern: strings.Repeat("X", 13)}},
		"symbols":        {coupon.CodeShape{Symbols: 8}, coupon.CodeShape{Symbols: 8, Pattern: "XXXXXXXXX"}},
		"one group":      {coupon.CodeShape{Pattern: "xxxxxxxxx"}, coupon.CodeShape{Symbols: 8, Pattern: "XXXXXXXXX"}},
		"groups": {
			coupon.CodeShape{Prefix: " sommer‐24 ", Pattern: " xxxx\u2011XXXX-XXXX "},
			coupon.CodeShape{Prefix: "SOMMER-24", Symbols: 11, Pattern: "XXXX-XXXX-XXXX"},
		},
		"groups and symbols": {coupon.CodeShape{Symbols: 8, Pattern: "XXX-XXX-XXX"}, coupon.CodeShape{Symbols: 8, Pattern: "XXX-XXX-XXX"}},
		"the largest groups": {coupon.CodeShape{Pattern: "XXXXXXXX-XXXXXXXX-XXXXXXXX"}, coupon.CodeShape{Symbols: 23, Pattern: "XXXXXXXX-XXXXXXXX-XXXXXXXX"}},
		"the longest code":   {coupon.CodeShape{Prefix: strings.Repeat("Ü", 241)}, coupon.CodeShape{Prefix: strings.Repeat("Ü", 241), Symbols: 12, Pattern: strings.Repeat("X", 13)}},
		"a prefix that reads like symbols": {
			coupon.CodeShape{Prefix: "GIFT", Pattern: "XXX-XXX-XXX"}, coupon.CodeShape{Prefix: "GIFT", Symbols: 8, Pattern: "XXX-XXX-XXX"},
		},
		"a prefix of the size of a group": {
			coupon.CodeShape{Prefix: "SALE", Pattern: "XXXX-XXXX-XXXX"}, coupon.CodeShape{Prefix: "SALE", Symbols: 11, Pattern: "XXXX-XXXX-XXXX"},
		},
	} {
		got, err := test.shape.Normalize()
		require.NoError(t, err, name)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		again, err := got.Normalize()
		require.NoError(t, err, name)
		require.Equal(t, got, again, name)
	}
}

// An invalid shape is refused with every invalid field.
func TestInvalidShapesOfCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shape coupon.CodeShape
		want  map[string]validation.Code
	}{
		"few":              {coupon.CodeShape{Symbols: coupon.MinCodeSymbols - 1}, map[string]validation.Code{"symbols": validation.Malformed}},
		"negative":         {coupon.CodeShape{Symbols: -1}, map[string]validation.Code{"symbols": validation.Malformed}},
		"many":             {coupon.CodeShape{Symbols: coupon.MaxCodeSymbols + 1}, map[string]validation.Code{"symbols": validation.Malformed}},
		"prefix":           {coupon.CodeShape{Prefix: "A B", Symbols: 1}, map[string]validation.Code{"prefix": validation.Malformed, "symbols": validation.Malformed}},
		"long prefix":      {coupon.CodeShape{Prefix: strings.Repeat("A", 242)}, map[string]validation.Code{"prefix": validation.TooLong}},
		"short pattern":    {coupon.CodeShape{Pattern: "XXXX-XXXX"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"long pattern":     {coupon.CodeShape{Pattern: strings.Repeat("X", 30)}, map[string]validation.Code{"pattern": validation.Malformed}},
		"other symbols":    {coupon.CodeShape{Pattern: "####-####-####"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"uneven groups":    {coupon.CodeShape{Pattern: "XXXX-XXXX-XXX"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"a dash at an end": {coupon.CodeShape{Pattern: "XXXXXXXXXX-"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"only dashes":      {coupon.CodeShape{Pattern: "---"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"large groups":     {coupon.CodeShape{Pattern: "XXXXXXXXX-XXXXXXXXX"}, map[string]validation.Code{"pattern": validation.Malformed}},
		"a huge pattern":   {coupon.CodeShape{Pattern: strings.Repeat("x", 1<<20)}, map[string]validation.Code{"pattern": validation.Malformed}},
		"two lengths":      {coupon.CodeShape{Symbols: 12, Pattern: "XXXX-XXXX-XXXX"}, map[string]validation.Code{"symbols": validation.Mismatch}},
		"an unclear prefix": {
			coupon.CodeShape{Prefix: "MY-GIFT", Pattern: "XXXX-XXXX-XXXX"}, map[string]validation.Code{"prefix": validation.NotAllowed},
		},
	} {
		_, err := test.shape.Normalize()
		require.Equal(t, test.want, fieldCodes(t, err), name)
	}
}

// Letters that people confuse with a symbol become that symbol. All others stay.
func TestConfusedLetters(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"": "", "OQD0": "0000", "IL1": "111", "Z2": "22", "A4": "44", "S5": "55", "G6": "66", "B8": "88", "NM": "MM", "UYV": "VVV",
		"3579CEFHJKPRTWX-Ü": "3579CEFHJKPRTWX-Ü",
	} {
		require.Equal(t, want, coupon.AsCodeSymbols(typed), typed)
	}
	require.True(t, coupon.IsCodeSymbols(coupon.CodeSymbols))
	require.False(t, coupon.IsCodeSymbols("0E0"))
	require.False(t, coupon.IsCodeSymbols("0-0"))
}
