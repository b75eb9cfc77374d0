package pricing_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

const cartText = `{
  "currency": "KWD",
  "step": "0.010",
  "lines": [
    {
      "id": "A",
      "kind": "plan",
      "itemId": "basic",
      "quantity": 3,
      "unitPrice": "10.000",
      "recurs": "month"
    },
    {
      "id": "S",
      "kind": "shipping",
      "itemId": "dhl",
      "quantity": 1,
      "unitPrice": "4.900"
    }
  ]
}`

// cartOfText is the cart of cartText.
func cartOfText(t fataler) pricing.Cart {
	return pricing.Cart{Currency: currency(t, "KWD"), Step: 10, Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 10_000, Recurs: pricing.Monthly},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 4_900},
	}}
}

// Contract section 7: names in camelCase, money as decimal strings.
func TestCartAsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(cartOfText(t), "", "  ")
	require.NoError(t, err)
	if diff := cmp.Diff(cartText, string(text)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	var read pricing.Cart
	require.NoError(t, json.Unmarshal([]byte(cartText), &read))
	if diff := cmp.Diff(cartOfText(t), read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	text, err = json.Marshal(pricing.Cart{Currency: pricing.EUR()})
	require.NoError(t, err)
	if diff := cmp.Diff(`{"currency":"EUR","lines":[]}`, string(text)); diff != "" {
		t.Errorf("no lines (-want +got):\n%s", diff)
	}
}

// Contract section 7: numbers are accepted when exact. A price of 10 is ten euros, and
// not ten cents.
func TestCartOfJSONNumbers(t *testing.T) {
	t.Parallel()
	for price, want := range map[string]int64{
		`10`: 1000, `"10"`: 1000, `12.5`: 1250, `"12.50"`: 1250, `1e1`: 1000, `0`: 0, `"0.01"`: 1, `10.00000`: 1000,
		`92233720368547758.07`: math.MaxInt64,
	} {
		var c pricing.Cart
		err := json.Unmarshal([]byte(`{"currency":"eur","lines":[{"kind":"device","quantity":1e0,"unitPrice":`+price+`}]}`), &c)
		want := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 1, UnitPrice: want}}}
		if diff := cmp.Diff(want, c); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", price, err, diff)
		}
	}
}

func TestCartInJSONIsLossless(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{Step: pricingtest.Step().Draw(t, "step")}).Draw(t, "cart")
		for i := range cart.Lines {
			cart.Lines[i].ID = rapid.StringN(0, pricing.MaxLineIDLength, -1).Draw(t, "id")
			cart.Lines[i].ItemID = rapid.StringN(0, pricing.MaxLineIDLength, -1).Draw(t, "item")
		}
		text, err := json.Marshal(cart)
		if err != nil {
			t.Fatalf("writing: %v", err)
		}
		var read pricing.Cart
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("reading %s: %v", text, err)
		}
		if len(cart.Lines) == 0 {
			cart.Lines = read.Lines // nil or empty
		}
		if diff := cmp.Diff(cart, read); diff != "" || len(cart.Lines) != len(read.Lines) {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Contract sections 2.6 and 7: every offending field is named by its path, once, and the
// cart stays as it was.
func TestCartThatIsNone(t *testing.T) {
	t.Parallel()
	const (
		required  = validation.Required
		malformed = validation.Malformed
		unknown   = validation.Unknown
		tooSmall  = validation.TooSmall
		tooFine   = validation.TooManyDecimals
	)
	const line = `{"id":"A","kind":"device","itemId":"phone","quantity":2,"unitPrice":"10.00"}`
	with := func(old, replacement string) string {
		require.Contains(t, line, old)
		return `{"currency":"EUR","lines":[` + strings.Replace(line, old, replacement, 1) + `]}`
	}
	for text, want := range map[string]map[string]validation.Code{
		``:      {"": malformed},
		`null`:  {"": malformed},
		`[]`:    {"": malformed},
		`{}`:    {"currency": required, "lines": required},
		`{"a"}`: {"": malformed},
		`{"currency":null,"step":null,"lines":null}`:                                  {"currency": required, "lines": required},
		`{"currency":"","step":"","lines":[]}`:                                        {"currency": required, "step": required},
		`{"currency":1,"step":[],"lines":{}}`:                                         {"currency": malformed, "step": malformed, "lines": malformed},
		`{"currency":"EUX","step":"ten","lines":[]}`:                                  {"currency": unknown, "step": malformed},
		`{"currency":"EUR","step":"-0.01","lines":[]}`:                                {"step": tooSmall},
		`{"currency":"EUR","step":"0.005","lines":[]}`:                                {"step": tooFine},
		`{"currency":"EUR","lines":[],"lines":[]}`:                                    {"lines": malformed},
		`{"currency":"EUR","currency":5,"lines":[]}`:                                  {"currency": malformed},
		`{"currency":"EUR","currency":"USD","lines":[]}`:                              {"currency": malformed},
		`{"Currency":"EUR","Step":0,"Lines":[]}`:                                      {"Currency": unknown, "Step": unknown, "Lines": unknown, "currency": required, "lines": required},
		`{"currency":"EUR","lines":[null,5,"A",[],{}]}`:                               {"lines[0]": malformed, "lines[1]": malformed, "lines[2]": malformed, "lines[3]": malformed, "lines[4].kind": required, "lines[4].quantity": required, "lines[4].unitPrice": required},
		`{"currency":"EUR","lines":[` + "\"\xff\"" + `]}`:                             {"": malformed},
		with(`"id":"A"`, `"id":1`):                                                    {"lines[0].id": malformed},
		with(`"A"`, `"\ud83d"`):                                                       {"lines[0].id": malformed},
		with(`"A"`, `"`+strings.Repeat("é", 256)+`"`):                                 {"lines[0].id": validation.TooLong},
		with(`"phone"`, `["phone"]`):                                                  {"lines[0].itemId": malformed},
		with(`"device"`, `"Device"`):                                                  {"lines[0].kind": malformed},
		with(`"device"`, `""`):                                                        {"lines[0].kind": required},
		with(`"device"`, `2`):                                                         {"lines[0].kind": malformed},
		with(`"device"`, `"Gift","recurs":"month"`):                                   {"lines[0].kind": malformed},
		with(`"device"`, `"gift","recurs":"month"`):                                   {"lines[0].recurs": validation.NotAllowed},
		with(`"device"`, `"gift","class":"gift"`):                                     {"lines[0].class": unknown},
		with(`"device"`, `"device","class":"shipping"`):                               {"lines[0].class": validation.Mismatch},
		with(`"device"`, `"device","categories":"sale"`):                              {"lines[0].categories": malformed},
		with(`"device"`, `"device","categories":["sale","",7]`):                       {"lines[0].categories[2]": malformed},
		with(`"device"`, `"device","categories":["sale",""]`):                         {"lines[0].categories[1]": required},
		with(`"device"`, `"device","recurs":"month"`):                                 {"lines[0].recurs": validation.NotAllowed},
		with(`"device"`, `"plan","recurs":"moon"`):                                    {"lines[0].recurs": unknown},
		with(`"device"`, `"plan","recurs":false`):                                     {"lines[0].recurs": malformed},
		with(`:2`, `:0`):                                                              {"lines[0].quantity": tooSmall},
		with(`:2`, `:"2"`):                                                            {"lines[0].quantity": malformed},
		with(`:2`, `:1.5`):                                                            {"lines[0].quantity": malformed},
		with(`:2`, `:true`):                                                           {"lines[0].quantity": malformed},
		with(`:2`, `:9223372036854775808`):                                            {"lines[0].quantity": validation.TooLarge},
		with(`:2`, `:1`+strings.Repeat("0", 99)):                                      {"lines[0].quantity": validation.TooLong},
		with(`:2`, `:null`):                                                           {"lines[0].quantity": required},
		with(`"10.00"`, `-1`):                                                         {"lines[0].unitPrice": tooSmall},
		with(`"10.00"`, `10.005`):                                                     {"lines[0].unitPrice": tooFine},
		with(`"10.00"`, `"ten"`):                                                      {"lines[0].unitPrice": malformed},
		with(`"10.00"`, `{}`):                                                         {"lines[0].unitPrice": malformed},
		with(`"10.00"`, `""`):                                                         {"lines[0].unitPrice": required},
		with(`"10.00"`, `1e9999999`):                                                  {"lines[0].unitPrice": validation.TooLarge},
		with(`"10.00"`, `"46116860184273879.04"`):                                     {"lines[0].unitPrice": validation.Overflow},
		with(`"10.00"`, `"10.00","price":"10.00"`):                                    {"lines[0].price": unknown},
		with(`"10.00"`, `"10.00","unitPrice":"9"`):                                    {"lines[0].unitPrice": malformed},
		strings.Replace(with(`:2`, `:0`), `"EUR"`, `"EUR","step":"0.03"`, 1):          {"lines[0].quantity": tooSmall, "lines[0].unitPrice": tooFine},
		strings.Replace(with(`"10.00"`, `"1.2345"`), `EUR`, `EUX`, 1):                 {"currency": unknown},
		strings.Replace(with(`"10.00"`, `"ten"`), `EUR`, `EUX`, 1):                    {"currency": unknown, "lines[0].unitPrice": malformed},
		`{"currency":"EUR","lines":[` + line + `,{"unitPrice":"x","quantity":-1}]}`:   {"lines[1].kind": required, "lines[1].quantity": tooSmall, "lines[1].unitPrice": malformed},
		`{"currency":"EUR","lines":[` + line + `],"lines2":[],"customer":{"id":"u"}}`: {"lines2": unknown, "customer": unknown},
	} {
		kept := cartOfText(t)
		err := kept.UnmarshalJSON([]byte(text))
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		var faults *validation.Error
		if errors.As(err, &faults); len(faults.Fields) != len(want) {
			t.Errorf("%s: a field is reported twice: %v", text, err)
		}
		if diff := cmp.Diff(cartOfText(t), kept); diff != "" {
			t.Errorf("%s: a refused cart changed what was there (-want +got):\n%s", text, diff)
		}
	}
}

// manyLines is a cart of that many lines.
func manyLines(n int, line string) string {
	return `{"currency":"EUR","lines":[` + strings.TrimSuffix(strings.Repeat(line+",", n), ",") + `]}`
}

func TestCartInJSONIsBounded(t *testing.T) {
	t.Parallel()
	const line = `{"kind":"device","quantity":1,"unitPrice":1}`
	var c pricing.Cart
	require.NoError(t, c.UnmarshalJSON([]byte(manyLines(pricing.MaxLines, line))))
	require.Len(t, c.Lines, pricing.MaxLines)
	for more := 1; more <= 2; more++ {
		wantField(t, c.UnmarshalJSON([]byte(manyLines(pricing.MaxLines+more, line))), "lines", validation.TooLong)
	}

	long := `{"currency":"EUR","lines":[]` + strings.Repeat(" ", 40<<20) + `}`
	wantField(t, c.UnmarshalJSON([]byte(long)), "", validation.TooLong)

	var faults *validation.Error
	require.ErrorAs(t, c.UnmarshalJSON([]byte(manyLines(pricing.MaxLines, `5`))), &faults)
	require.Len(t, faults.Fields, 1_000, "the rest is not read")

	longest := strings.Repeat("\x01", pricing.MaxLineIDLength)
	c.Lines = make([]pricing.Line, pricing.MaxLines)
	for i := range c.Lines {
		c.Lines[i] = pricing.Line{ID: longest, ItemID: longest, Kind: pricing.Accessory, Quantity: math.MaxInt64 / pricing.MaxLines}
	}
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var read pricing.Cart
	require.NoError(t, json.Unmarshal(text, &read), "the longest cart")
}

// Nothing is written that could not be read.
func TestCartThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cart pricing.Cart
		want map[string]validation.Code
	}{
		{pricing.Cart{}, map[string]validation.Code{"currency": validation.Required}},
		{pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{}}}, map[string]validation.Code{
			"lines[0].kind": validation.Required, "lines[0].quantity": validation.TooSmall,
		}},
		{
			pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "\xff", ItemID: "\xff", Kind: pricing.Plan, Quantity: 1}}},
			map[string]validation.Code{"lines[0].id": validation.Malformed, "lines[0].itemId": validation.Malformed},
		},
	} {
		_, err := json.Marshal(c.cart)
		if diff := cmp.Diff(c.want, faultsOf(err)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.cart, diff)
		}
	}
}

// What does not know its currency has no JSON: nobody reads minor units as major ones.
func TestWhatHasNoJSONByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target any
		texts  []string
		want   string
	}{
		{new(pricing.Line), []string{`{}`, `{"unitPrice":10}`, `{"UnitPrice":1000}`}, "a line does not know its currency: read or write the whole cart, a pricing.Cart"},
		{new(pricing.QuotedLine), []string{`{}`, `{"Total":10}`}, "a line does not know its currency: read or write the whole cart, a pricing.Cart"},
		{new(pricing.Money), []string{`{}`, `"12.50"`, `12.5`}, "an amount in JSON does not tell its currency: read a pricing.Number and convert it with pricing.ParseMoney"},
	} {
		for _, text := range c.texts {
			if err := json.Unmarshal([]byte(text), c.target); err == nil || err.Error() != c.want {
				t.Errorf("%T of %s: got %v, want %s", c.target, text, err, c.want)
			}
		}
		require.NoError(t, json.Unmarshal([]byte(`null`), c.target))
	}
	for _, value := range []any{pricing.Line{}, pricing.QuotedLine{}} {
		if text, err := json.Marshal(value); err == nil || !strings.Contains(err.Error(), "a line does not know its currency") {
			t.Errorf("%T: got %s, %v", value, text, err)
		}
	}
}
