package pricing_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/couponkit/couponkit/pricing"
)

func FuzzParseCurrency(f *testing.F) {
	for _, seed := range []string{"EUR", "jpy", "XXX", "", "EURO", "\u212aWD", "ſek", "\xff\xfe\xfd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		c, err := pricing.ParseCurrency(code)
		if err != nil {
			wantField(t, err, "currency", pricing.FieldUnknown)
			return
		}
		if !strings.EqualFold(c.Code(), code) || len(code) != 3 {
			t.Errorf("%q is read as %s", code, c)
		}
		if again, err := pricing.ParseCurrency(c.Code()); err != nil || again != c {
			t.Errorf("%s is not read back: %s, %v", c, again, err)
		}
	})
}

// rational is what the text of a small number means to math/big, an independent
// reader.
func rational(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is accepted, but is no number to math/big", text)
	}
	return r
}

var numberSeeds = []string{
	"12.50", "-0.01", "0", "1e2", "1.25e1", "1250e-2", "9223372036854775807", "9223372036854775808", "1e400", "1e-400",
	"0.0001", "100.0001", "33.33", "", "-", ".5", "5.", "+1", "1_0", "0x1p4", "1/2", "NaN", "１", "1e99999999999999999999",
}

func FuzzParseMoney(f *testing.F) {
	for _, seed := range numberSeeds {
		f.Add(seed, "EUR")
		f.Add(seed, "CLF")
		f.Add(seed, "JPY")
	}
	f.Fuzz(func(t *testing.T, text, code string) {
		c, err := pricing.ParseCurrency(code)
		if err != nil {
			return
		}
		m, err := pricing.ParseMoney(text, c)
		if err != nil {
			if len(faultsOf(err)) != 1 {
				t.Errorf("%q: %v is not one fault", text, err)
			}
			return
		}
		if got := rational(t, m.Amount()); got.Cmp(rational(t, text)) != 0 {
			t.Errorf("%q is read as %s", text, m)
		}
	})
}

func FuzzParsePercent(f *testing.F) {
	for _, seed := range numberSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pricing.ParsePercent(text)
		if err != nil {
			if len(faultsOf(err)) != 1 {
				t.Errorf("%q: %v is not one fault", text, err)
			}
			return
		}
		got := rational(t, p.String())
		if got.Cmp(rational(t, text)) != 0 || got.Sign() <= 0 || got.Cmp(big.NewRat(100, 1)) > 0 {
			t.Errorf("%q is read as %s", text, p)
		}
		if off := p.Of(12_345); off < 0 || off > 12_345 {
			t.Errorf("%s %% of 12345 is %d", p, off)
		}
	})
}

func FuzzNumberJSON(f *testing.F) {
	for _, seed := range numberSeeds {
		f.Add([]byte(seed))
		f.Add([]byte(`"` + seed + `"`))
	}
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var n pricing.Number
		if err := n.UnmarshalJSON(data); err != nil {
			if n != "" {
				t.Errorf("%q: an error and %q", data, n)
			}
			return
		}
		if len(n) > 65 {
			t.Errorf("%q: %d bytes are kept", data, len(n))
		}
		d, err := n.Decimal()
		if err != nil {
			if len(faultsOf(err)) != 1 {
				t.Errorf("%q: %v is not one fault", n, err)
			}
			return
		}
		if d.Rat().Cmp(rational(t, string(n))) != 0 {
			t.Errorf("%q is read as %s", n, d)
		}
		// Every way to read a number comes to the same.
		fromText, textErr := pricing.ParseMoney(string(n), pricing.EUR())
		fromDecimal, decimalErr := pricing.MoneyFromDecimal(d, pricing.EUR())
		if (textErr == nil) != (decimalErr == nil) || fromText != fromDecimal {
			t.Errorf("%q: %s, %v as text; %s, %v as decimal", n, fromText, textErr, fromDecimal, decimalErr)
		}
	})
}

func FuzzQuoteJSON(f *testing.F) {
	f.Add([]byte(storedQuote))
	f.Add([]byte(strings.ReplaceAll(storedQuote, "EUR", "KWD")))
	f.Add([]byte(`{"currency":"","subtotal":"0","eligibleSubtotal":0,"discount":"0","shipping":"0","total":"0","lines":[]}`))
	f.Add([]byte(`{"lines":[{"units":[{"quantity":1e400}]}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q pricing.Quote
		if err := q.UnmarshalJSON(data); err != nil {
			if len(faultsOf(err)) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		for field, code := range faultsOf(q.Validate()) {
			id := strings.HasSuffix(field, ".id") || strings.HasSuffix(field, ".itemId")
			if !id || code != pricing.FieldTooLong { // stored before IDs were bounded
				t.Fatalf("an invalid quote is loaded: %s is %s", field, code)
			}
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatalf("what was loaded cannot be stored: %v", err)
		}
		var again pricing.Quote
		if err := again.UnmarshalJSON(text); err != nil || !again.Equal(q) {
			t.Fatalf("%s is loaded as %+v, %v", text, again, err)
		}
	})
}
