package pricing_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func FuzzParseCurrency(f *testing.F) {
	for _, seed := range []string{"EUR", "jpy", "XXX", "", "EURO", "\u212aWD", "ſek", "\xff\xfe\xfd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		c, err := pricing.ParseCurrency(code)
		if err != nil {
			wantField(t, err, "currency", validation.Unknown)
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
	for seed := range uint64(8) {
		cart, terms := randomCase(rand.New(rand.NewPCG(seed, 41)))
		q, err := pricing.Price(cart, terms...)
		if err != nil {
			f.Fatal(err)
		}
		text, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
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
			if !id || code != validation.TooLong { // stored before IDs were bounded
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

// slowCart is a cart in JSON as the standard library reads it.
type slowCart struct {
	Currency string
	Step     json.RawMessage
	Lines    []struct {
		ID, Kind, ItemID, Recurs string
		Quantity, UnitPrice      json.RawMessage
	}
}

// slowNumber is what a number in JSON, bare or as text, means to math/big.
func slowNumber(t *testing.T, raw json.RawMessage) *big.Rat {
	t.Helper()
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatalf("%s is accepted, but is no text: %v", raw, err)
		}
	}
	return rational(t, text)
}

func FuzzCartJSON(f *testing.F) {
	f.Add([]byte(cartText))
	f.Add([]byte(strings.ReplaceAll(cartText, `"10.000"`, `1e1`)))
	f.Add([]byte(`{"currency":"eur","step":0.05,"lines":[{"kind":"device","quantity":2.0,"unitPrice":10,"recurs":null}]}`))
	f.Add([]byte(`{"currency":"EUX","lines":[{},null,{"quantity":"1","unitPrice":1e400,"price":0}]}`))
	f.Add([]byte(`{"currency":"EUR","lines":[{"id":"\ud83d","kind":"plan","quantity":9223372036854775807,"unitPrice":"0.02"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c pricing.Cart
		if err := c.UnmarshalJSON(data); err != nil {
			if len(faultsOf(err)) == 0 || !c.Currency.IsZero() || c.Lines != nil {
				t.Errorf("%v names no field, or %+v was read", err, c)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("an invalid cart is read: %v", err)
		}
		agreesWithTheSlowCart(t, data, c)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again pricing.Cart
		if err := again.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s cannot be read: %v", text, err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func agreesWithTheSlowCart(t *testing.T, data []byte, c pricing.Cart) {
	t.Helper()
	var slow slowCart
	if err := json.Unmarshal(data, &slow); err != nil {
		t.Fatalf("%s is accepted, but not by encoding/json: %v", data, err)
	}
	if !strings.EqualFold(slow.Currency, c.Currency.Code()) || len(slow.Lines) != len(c.Lines) {
		t.Fatalf("%s is read as %+v", data, c)
	}
	step := new(big.Rat)
	if len(slow.Step) > 0 && string(slow.Step) != "null" {
		step = slowNumber(t, slow.Step)
	}
	if step.Cmp(rational(t, c.Currency.Format(c.Step))) != 0 {
		t.Errorf("%s is read with a step of %s", data, c.Currency.Format(c.Step))
	}
	for i, l := range c.Lines {
		s := slow.Lines[i]
		if s.ID != l.ID || s.Kind != l.Kind.String() || s.ItemID != l.ItemID || s.Recurs != l.Recurs.String() {
			t.Errorf("line %d of %s is read as %+v", i, data, l)
		}
		if s.Quantity[0] == '"' || slowNumber(t, s.Quantity).Cmp(new(big.Rat).SetInt64(l.Quantity)) != 0 {
			t.Errorf("the quantity of line %d of %s is read as %d", i, data, l.Quantity)
		}
		if price := c.Currency.Format(l.UnitPrice); slowNumber(t, s.UnitPrice).Cmp(rational(t, price)) != 0 {
			t.Errorf("the price of line %d of %s is read as %s", i, data, price)
		}
	}
}

func FuzzDiscountJSON(f *testing.F) {
	f.Add([]byte(`{"discountType":"PERCENTAGE","discountValue":"12.5"}`))
	f.Add([]byte(`{"discountType":"FIXED_AMOUNT","discountValue":10.00,"currency":"EUR"}`))
	f.Add([]byte(`{"discountType":"FIXED_AMOUNT","discountValue":"1e-3","currency":"kwd"}`))
	f.Add([]byte(`{"discountType":"HALF","discountValue":{},"currency":null,"percent":50}`))
	for _, d := range goldenDiscounts(f) {
		text, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"discountType":"PERCENTAGE","discountValue":5,"lane":"item","currency":"EUR","maxDiscount":{"EUR":5,"USD":"5.5"},"maxUnits":2}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d pricing.Discount
		if err := d.UnmarshalJSON(data); err != nil {
			if len(faultsOf(err)) == 0 || !d.IsZero() {
				t.Errorf("%v names no field, or %s was read", err, d)
			}
			return
		}
		var slow struct {
			DiscountType, Currency string
			DiscountValue          json.RawMessage
		}
		if err := json.Unmarshal(data, &slow); err != nil {
			t.Fatalf("%s is accepted, but not by encoding/json: %v", data, err)
		}
		currency := d.Amount().Currency().Code()
		if d.Type().String() != slow.DiscountType || d.Simple() && !strings.EqualFold(currency, slow.Currency) ||
			d.Value() != "" && rational(t, d.Value()).Cmp(slowNumber(t, slow.DiscountValue)) != 0 {
			t.Errorf("%s is read as %s", data, d)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again pricing.Discount
		if err := again.UnmarshalJSON(text); err != nil || !again.Equal(d) {
			t.Fatalf("%s is read as %s, %v", text, again, err)
		}
	})
}

// FuzzCombine: sets of coupons on small carts cost what the oracle says.
func FuzzCombine(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, seed, more uint64) {
		cart, terms := randomCase(rand.New(rand.NewPCG(seed, more)))
		q, err := pricing.Price(cart, terms...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(oracleAllocations(cart, terms), unitAllocations(q)); diff != "" {
			t.Errorf("(-oracle +got):\n%s", diff)
		}
	})
}

// FuzzParseLineKind: a kind is what is written, and a line of it is valid.
func FuzzParseLineKind(f *testing.F) {
	for _, seed := range []string{"plan", "device", "book", "e-book_2", "", "Book", "é", "a b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, err := pricing.ParseLineKind(text)
		line := pricing.Line{Kind: pricing.LineKind(text), Quantity: 1}
		valid := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{line}}.Validate()
		if (err == nil) != (valid == nil) || err == nil && kind.String() != text {
			t.Errorf("%q is %q, %v; in a cart %v", text, kind, err, valid)
		}
	})
}
