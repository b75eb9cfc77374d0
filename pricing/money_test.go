package pricing_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// moneyCases are texts and what they are in minor units, or the fault.
var moneyCases = []struct {
	text, code string
	minor      int64
	fault      validation.Code
}{
	{"12.50", "EUR", 1250, ""},
	{"12.5", "EUR", 1250, ""},
	{"12", "EUR", 1200, ""},
	{"0.01", "EUR", 1, ""},
	{"-0.01", "EUR", -1, ""},
	{"-0", "EUR", 0, ""},
	{"-0.00", "EUR", 0, ""},
	{"000.10", "EUR", 10, ""},
	{"1.2300000", "EUR", 123, ""},
	{"1.25e1", "EUR", 1250, ""},
	{"1250e-2", "EUR", 1250, ""},
	{"1e2", "JPY", 100, ""},
	{"100.000", "JPY", 100, ""},
	{"1.234", "KWD", 1234, ""},
	{"1.2345", "CLF", 12345, ""},
	{"92233720368547758.07", "EUR", math.MaxInt64, ""},
	{"-92233720368547758.07", "EUR", -math.MaxInt64, ""},
	{"9223372036854775807", "JPY", math.MaxInt64, ""},
	{"9.223372036854775807e18", "JPY", math.MaxInt64, ""},
	{"0.000000000000000000000000000000000000000000000000000", "EUR", 0, ""},
	{"92233720368547758.08", "EUR", 0, validation.TooLarge},
	{"-92233720368547758.08", "EUR", 0, validation.TooLarge},
	{"9223372036854775808", "JPY", 0, validation.TooLarge},
	{"18446744073709551617", "JPY", 0, validation.TooLarge}, // 1 in 64 bits
	{"1e19", "JPY", 0, validation.TooLarge},
	{"1e64", "EUR", 0, validation.TooLarge},
	{strings.Repeat("9", 64), "EUR", 0, validation.TooLarge},
	{"12.505", "EUR", 0, validation.TooManyDecimals},
	{"0.5", "JPY", 0, validation.TooManyDecimals},
	{"1e-3", "EUR", 0, validation.TooManyDecimals},
	{"1e-64", "EUR", 0, validation.TooManyDecimals},
	{"10.0e-4", "EUR", 0, validation.TooManyDecimals},
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	for _, c := range moneyCases {
		m, err := pricing.ParseMoney(c.text, currency(t, c.code))
		if c.fault != "" {
			wantField(t, err, "", c.fault)
		} else if err != nil || m.Minor() != c.minor || m.Currency().Code() != c.code {
			t.Errorf("%s %s: got %s (%d), %v; want %d", c.text, c.code, m, m.Minor(), err, c.minor)
		}
	}
}

func TestMoneyFromDecimal(t *testing.T) {
	t.Parallel()
	for _, c := range moneyCases {
		d, err := pricing.Number(c.text).Decimal()
		require.NoError(t, err)
		m, err := pricing.MoneyFromDecimal(d, currency(t, c.code))
		if c.fault != "" {
			wantField(t, err, "", c.fault)
		} else if err != nil || m.Minor() != c.minor {
			t.Errorf("%s %s: got %d, %v; want %d", c.text, c.code, m.Minor(), err, c.minor)
		}
	}
}

// A decimal from elsewhere may be anything; what it costs to refuse it does not
// depend on its exponent.
func TestMoneyFromMonstrousDecimals(t *testing.T) {
	t.Parallel()
	huge := new(big.Int).Lsh(big.NewInt(1), 100_000)
	for _, c := range []struct {
		d    decimal.Decimal
		want validation.Code
	}{
		{decimal.New(1, math.MaxInt32), validation.TooLarge},
		{decimal.New(1, 17), validation.TooLarge},
		{decimal.New(1, math.MinInt32), validation.TooManyDecimals},
		{decimal.New(1, -158), validation.TooManyDecimals},
		{decimal.NewFromBigInt(huge, 0), validation.TooLarge},
		{decimal.NewFromBigInt(huge, math.MinInt32), validation.TooLarge},
		{decimal.New(math.MinInt64, -2), validation.TooLarge},
	} {
		_, err := pricing.MoneyFromDecimal(c.d, pricing.EUR())
		wantField(t, err, "", c.want)
	}
	// The most digits that are still read, every one of them behind the point.
	digits := new(big.Int).Exp(big.NewInt(10), big.NewInt(154), nil)
	for exponent, want := range map[int32]int64{-154: 100, -155: 10, -156: 1} {
		m, err := pricing.MoneyFromDecimal(decimal.NewFromBigInt(digits, exponent), pricing.EUR())
		if err != nil || m.Minor() != want {
			t.Errorf("10^154 x 10^%d: got %d, %v; want %d", exponent, m.Minor(), err, want)
		}
	}
	_, err := pricing.MoneyFromDecimal(decimal.NewFromBigInt(digits, -157), pricing.EUR())
	wantField(t, err, "", validation.TooManyDecimals)
	// The greatest power of ten that is still multiplied out.
	if m, err := pricing.MoneyFromDecimal(decimal.New(9, 16), pricing.EUR()); err != nil || m.Minor() != 9e18 {
		t.Errorf("9 x 10^16: got %d, %v", m.Minor(), err)
	}
	for _, exponent := range []int32{math.MinInt32, 0, math.MaxInt32} {
		if m, err := pricing.MoneyFromDecimal(decimal.New(0, exponent), pricing.EUR()); err != nil || !m.IsZero() {
			t.Errorf("0 x 10^%d: got %s, %v", exponent, m, err)
		}
	}
}

func TestMoneyNeedsACurrency(t *testing.T) {
	t.Parallel()
	_, err := pricing.ParseMoney("1", pricing.Currency{})
	wantField(t, err, "", validation.Required)
	_, err = pricing.MoneyFromDecimal(decimal.New(1, 0), pricing.Currency{})
	wantField(t, err, "", validation.Required)
	_, err = pricing.ParseMoney("", pricing.EUR())
	wantField(t, err, "", validation.Required)
	_, err = pricing.ParseMoney("twelve", pricing.EUR())
	wantField(t, err, "", validation.Malformed)
}

func TestMoneyText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor        int64
		code, amount string
	}{
		{0, "EUR", "0.00"},
		{0, "JPY", "0"},
		{1, "EUR", "0.01"},
		{-1, "EUR", "-0.01"},
		{10, "EUR", "0.10"},
		{1250, "EUR", "12.50"},
		{-1250, "EUR", "-12.50"},
		{1250, "JPY", "1250"},
		{1250, "KWD", "1.250"},
		{1250, "CLF", "0.1250"},
		{math.MaxInt64, "EUR", "92233720368547758.07"},
		{math.MinInt64, "CLF", "-922337203685477.5808"},
	} {
		m := pricing.NewMoney(c.minor, currency(t, c.code))
		if m.Amount() != c.amount || m.String() != c.amount+" "+c.code || m.Currency().Format(c.minor) != c.amount {
			t.Errorf("%d %s: got %q and %q, want %q", c.minor, c.code, m.Amount(), m, c.amount)
		}
		text, err := json.Marshal(m)
		if want := `"` + c.amount + `"`; err != nil || string(text) != want {
			t.Errorf("%d %s: got JSON %s, %v; want %s", c.minor, c.code, text, err, want)
		}
	}
	if got := pricing.NewMoney(5, pricing.Currency{}).String(); got != "5" {
		t.Errorf("an amount of no currency: got %q", got)
	}
}

// Text and decimals hold every amount exactly, in every currency.
func TestMoneyRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := pricingtest.Currency().Draw(t, "currency")
		m := pricing.NewMoney(rapid.Int64Min(-math.MaxInt64).Draw(t, "minor"), c)
		fromText, err := pricing.ParseMoney(m.Amount(), c)
		if err != nil || !fromText.Equal(m) {
			t.Fatalf("%s as text: %s, %v", m, fromText, err)
		}
		fromDecimal, err := pricing.MoneyFromDecimal(m.Decimal(), c)
		if diff := cmp.Diff(m, fromDecimal); err != nil || diff != "" {
			t.Fatalf("as decimal: %v, (-want +got):\n%s", err, diff)
		}
		minor, err := c.Parse(m.Decimal().String())
		if err != nil || minor != m.Minor() {
			t.Fatalf("%s as the decimal's text: %d, %v", m, minor, err)
		}
		if scaled := new(big.Rat).SetFrac64(m.Minor(), int64(math.Pow10(c.Exponent()))); m.Decimal().Rat().Cmp(scaled) != 0 {
			t.Fatalf("%s as decimal: %s", m, m.Decimal())
		}
	})
}

func TestMoneyAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}))
		a, b := amount.Draw(t, "a"), amount.Draw(t, "b")
		exact := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		sum, err := pricing.NewMoney(a, pricing.EUR()).Add(pricing.NewMoney(b, pricing.EUR()))
		switch {
		case !exact.IsInt64():
			wantField(t, err, "", validation.Overflow)
		case err != nil || sum.Minor() != exact.Int64() || sum.Currency() != pricing.EUR():
			t.Fatalf("%d + %d: got %s, %v", a, b, sum, err)
		}
	})
	_, err := pricing.NewMoney(1, pricing.EUR()).Add(pricing.NewMoney(1, currency(t, "USD")))
	wantField(t, err, "currency", validation.Mismatch)
}

func TestMoneyCompare(t *testing.T) {
	t.Parallel()
	five, six := pricing.NewMoney(5, pricing.EUR()), pricing.NewMoney(6, pricing.EUR())
	for _, c := range []struct {
		m, n pricing.Money
		want int
	}{{five, six, -1}, {five, five, 0}, {six, five, 1}} {
		if got, err := c.m.Compare(c.n); err != nil || got != c.want {
			t.Errorf("%s with %s: got %d, %v", c.m, c.n, got, err)
		}
	}
	_, err := five.Compare(pricing.NewMoney(5, currency(t, "USD")))
	wantField(t, err, "currency", validation.Mismatch)
	if five.Equal(pricing.NewMoney(5, currency(t, "USD"))) || five.Equal(six) || !five.Equal(five) {
		t.Error("Equal is not ==")
	}
}
