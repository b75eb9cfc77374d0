package stripeprocessor_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// FuzzAmounts: an amount that goes to Stripe is worth there what it is worth here, to
// the last fraction, and comes back as itself; what Stripe does not charge, or nobody
// can count, is refused, and nothing else. An amount that Stripe tells is worth what it
// says, or the next unit of ours above it, or, where that is more than can be counted,
// the greatest or least there is: it never wraps around into an amount that was ordered.
func FuzzAmounts(f *testing.F) {
	currencies := pricing.Currencies()
	index := map[string]uint16{}
	for i, c := range currencies {
		index[c.Code()] = uint16(i)
	}
	for _, code := range []string{"EUR", "JPY", "KWD", "ISK", "UGX", "MGA", "CLF", "HUF"} {
		for _, amount := range []int64{0, 1, 5, 10, 99, 100, 1230, math.MaxInt64 / 100, math.MaxInt64/100 + 1, math.MaxInt64 - 98, math.MaxInt64, -1, math.MinInt64} {
			f.Add(index[code], amount)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, amount int64) {
		c := currencies[int(which)%len(currencies)]
		_, exponent := stepAndExponent(c)
		if exponent < 0 {
			if _, charged, _ := stripeprocessor.ToStripe(c, amount); charged {
				t.Errorf("%s is charged", c)
			}
			return
		}
		checkToStripe(t, c, exponent, max(amount, 0))
		checkFromStripe(t, c, exponent, amount)
	})
}

// worth is an amount of minor units in major ones.
func worth(amount int64, exponent int) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
	return new(big.Rat).SetFrac(big.NewInt(amount), scale)
}

// units is an amount of major units in minor ones, rounded up.
func units(major *big.Rat, exponent int) *big.Int {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
	minor := new(big.Rat).Mul(major, new(big.Rat).SetInt(scale))
	up := new(big.Int).Add(minor.Num(), new(big.Int).Sub(minor.Denom(), big.NewInt(1)))
	return up.Div(up, minor.Denom()) // Euclidean, so that it is the floor also below zero
}

func checkToStripe(t *testing.T, c pricing.Currency, exponent int, minor int64) {
	t.Helper()
	step, _ := stepAndExponent(c)
	want := units(worth(minor, c.Exponent()), exponent)
	possible := minor%step == 0 && want.IsInt64()
	got, charged, err := stripeprocessor.ToStripe(c, minor)
	switch {
	case !charged:
		t.Errorf("%s is not charged", c)
	case possible != (err == nil):
		t.Errorf("%d of %s: %v", minor, c, err)
	case err == nil && worth(got, exponent).Cmp(worth(minor, c.Exponent())) != 0:
		t.Errorf("%d of %s becomes %d", minor, c, got)
	case err == nil && stripeprocessor.FromStripe(c, got) != minor:
		t.Errorf("%d of %s becomes %d and comes back as %d", minor, c, got, stripeprocessor.FromStripe(c, got))
	}
}

func checkFromStripe(t *testing.T, c pricing.Currency, exponent int, amount int64) {
	t.Helper()
	want := units(worth(amount, exponent), c.Exponent())
	switch {
	case want.Cmp(big.NewInt(math.MaxInt64)) > 0:
		want.SetInt64(math.MaxInt64)
	case want.Cmp(big.NewInt(math.MinInt64)) < 0:
		want.SetInt64(math.MinInt64)
	}
	if got := stripeprocessor.FromStripe(c, amount); got != want.Int64() {
		t.Errorf("Stripe's %d of %s is read as %d, want %d", amount, c, got, want)
	}
}
