package codes_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// The odds are texts / (issued × guesses), rounded down.
func TestOdds(t *testing.T) {
	t.Parallel()
	day := codes.Policy{GuessesPerSecond: 1, Period: 24 * time.Hour}
	for _, test := range []struct {
		policy  codes.Policy
		symbols int
		issued  uint64
		want    string
	}{
		// One guess for one code of 22⁷ × 21.
		{codes.Policy{GuessesPerSecond: 1, Period: time.Second}, 8, 1, "52381515648"},
		{codes.Policy{GuessesPerSecond: 1, Period: time.Second}, 8, 0, "52381515648"},
		{codes.Policy{GuessesPerSecond: 1, Period: time.Nanosecond}, 8, 1, "52381515648"}, // rounded up to one guess
		{codes.Policy{GuessesPerSecond: 1, Period: time.Second + 1}, 8, 1, "26190757824"},
		{codes.Policy{GuessesPerSecond: 1, Period: time.Second}, 8, 52381515648, "1"},
		{codes.Policy{GuessesPerSecond: 1, Period: time.Second}, 8, 52381515649, "0"},
		{day, 8, 1, "606267"},
		{day, 8, 100, "6062"},
		{codes.Policy{}, 8, 1, "166"}, // ten guesses a second for a year
		{codes.Policy{}, 12, 1, "38910084"},
		{codes.Policy{}, 12, 38_910, "1000"},
		{codes.Policy{}, 12, 38_911, "999"},
		{codes.Policy{}, 14, 10_000_000, "1883"},
		{codes.Policy{GuessesPerSecond: math.MaxUint32, Period: math.MaxInt64}, 28, math.MaxUint64, "0"},
	} {
		got, err := test.policy.Odds(coupon.CodeShape{Symbols: test.symbols}, test.issued)
		require.NoError(t, err)
		if got.String() != test.want {
			t.Errorf("%+v, %d symbols, %d codes: 1 in %s, want %s", test.policy, test.symbols, test.issued, got, test.want)
		}
	}
}

// The smallest number of symbols is allowed, and one symbol less is refused.
func TestSymbolsOfAPolicy(t *testing.T) {
	t.Parallel()
	for issued, want := range map[uint64]int{0: 9, 1: 9, 80: 10, 38_910: 12, 38_911: 13, 10_000_000: 14, math.MaxUint64: 23} {
		n := codes.Policy{}.Symbols(issued)
		require.Equal(t, want, n, "%d codes", issued)
		require.NoError(t, codes.Policy{}.Check(coupon.CodeShape{Symbols: n}, issued), "%d codes", issued)
		require.Error(t, codes.Policy{}.Check(coupon.CodeShape{Symbols: n - 1}, issued), "%d codes", issued)
		shape, err := codes.Policy{}.Shape(coupon.CodeShape{Prefix: "VIP"}, issued)
		require.NoError(t, err)
		require.Equal(t, coupon.CodeShape{Prefix: "VIP", Symbols: max(coupon.DefaultCodeSymbols, n)}, shape)
		short := coupon.CodeShape{Symbols: n - 1}
		shape, err = codes.Policy{}.Shape(short, issued)
		require.Error(t, err)
		require.Equal(t, short, shape)
	}
	require.Zero(t, codes.Policy{OneIn: math.MaxUint64, GuessesPerSecond: math.MaxUint32}.Symbols(math.MaxUint64))
	require.Zero(t, codes.Policy{Period: -1}.Symbols(1))
}

// A shape that is too short is refused with the odds, and with the number of symbols that are enough.
func TestAShortShapeIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		policy codes.Policy
		shape  coupon.CodeShape
		issued uint64
		want   []validation.Field
	}{
		{"the most codes of 12 symbols", codes.Policy{}, coupon.CodeShape{}, 38_910, nil},
		{"one more", codes.Policy{}, coupon.CodeShape{}, 38_911, fault(
			"symbols", "315,360,000 guesses find one of 38,911 codes with odds of 1 in 999; allowed are 1 in 1,000; 13 random symbols are enough")},
		{"other odds", codes.Policy{OneIn: 999}, coupon.CodeShape{}, 38_911, nil},
		{"a pattern", codes.Policy{OneIn: 1_000_000}, coupon.CodeShape{Pattern: "XXXX-XXXX-XXXX"}, 550, fault(
			"pattern", "315,360,000 guesses find one of 550 codes with odds of 1 in 3,215; allowed are 1 in 1,000,000; 13 random symbols are enough")},
		{"certainty", codes.Policy{}, coupon.CodeShape{Symbols: 8}, 1_000_000, fault(
			"symbols", "315,360,000 guesses find one of 1,000,000 codes with odds of worse than 1 in 1; allowed are 1 in 1,000; 14 random symbols are enough")},
		{"no codes yet", codes.Policy{}, coupon.CodeShape{Symbols: 8}, 0, fault(
			"symbols", "315,360,000 guesses find one of 1 codes with odds of 1 in 166; allowed are 1 in 1,000; 9 random symbols are enough")},
		{"no length", codes.Policy{OneIn: math.MaxUint64, GuessesPerSecond: math.MaxUint32}, coupon.CodeShape{}, math.MaxUint64, fault(
			"symbols", "135,446,088,615,120,000 guesses find one of 18,446,744,073,709,551,615 codes with odds of worse than 1 in 1; allowed are 1 in 18,446,744,073,709,551,615; no length is enough")},
		{"an invalid shape and period", codes.Policy{Period: -1}, coupon.CodeShape{Symbols: 7}, 1, []validation.Field{
			{Path: "symbols", Code: validation.Malformed, Message: "a generated code has 8 to 28 random symbols and a check symbol"},
			{Path: "period", Code: validation.TooSmall, Message: "a period is not negative"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.policy.Check(test.shape, test.issued)
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			var invalid *validation.Error
			require.ErrorAs(t, err, &invalid)
			if diff := cmp.Diff(test.want, invalid.Fields); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func fault(path, message string) []validation.Field {
	return []validation.Field{{Path: path, Code: validation.TooSmall, Message: message}}
}
