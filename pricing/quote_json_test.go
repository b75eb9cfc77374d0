package pricing_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

const storedQuote = `{
  "version": 1,
  "currency": "EUR",
  "subtotal": "80.00",
  "eligibleSubtotal": "30.00",
  "discount": "10.00",
  "shipping": "4.90",
  "total": "74.90",
  "lines": [
    {
      "id": "A",
      "kind": "plan",
      "itemId": "basic",
      "quantity": 3,
      "unitPrice": "10.00",
      "recurs": "month",
      "eligible": true,
      "subtotal": "30.00",
      "discount": "10.00",
      "total": "20.00",
      "units": [
        {
          "quantity": 2,
          "unitPrice": "6.67"
        },
        {
          "quantity": 1,
          "unitPrice": "6.66"
        }
      ]
    },
    {
      "id": "B",
      "kind": "device",
      "itemId": "phone",
      "quantity": 1,
      "unitPrice": "50.00",
      "eligible": false,
      "subtotal": "50.00",
      "discount": "0.00",
      "total": "50.00",
      "units": [
        {
          "quantity": 1,
          "unitPrice": "50.00"
        }
      ]
    },
    {
      "id": "S",
      "kind": "shipping",
      "itemId": "dhl",
      "quantity": 1,
      "unitPrice": "4.90",
      "eligible": false,
      "subtotal": "4.90",
      "discount": "0.00",
      "total": "4.90",
      "units": [
        {
          "quantity": 1,
          "unitPrice": "4.90"
        }
      ]
    }
  ],
  "coupons": [
    {
      "id": "cpn_1",
      "discount": "10.00",
      "eligibleSubtotal": "30.00",
      "eligibleQuantity": 3,
      "terms": {
        "discountType": "FIXED_AMOUNT",
        "discountValue": "10.00",
        "currency": "EUR"
      }
    }
  ]
}`

// quoteToStore is the quote of storedQuote.
func quoteToStore(t fataler) pricing.Quote {
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000, Recurs: pricing.Monthly},
		{ID: "B", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 5000},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}, pricing.Terms{ID: "cpn_1", Discount: amountOff(t, "10", "EUR"), Eligible: []bool{true, false, false}})
	if err != nil {
		t.Fatalf("pricing: %v", err)
	}
	return q
}

func TestQuoteStoredForm(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(quoteToStore(t), "", "  ")
	require.NoError(t, err)
	if diff := cmp.Diff(storedQuote, string(text)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	var loaded pricing.Quote
	require.NoError(t, json.Unmarshal([]byte(storedQuote), &loaded))
	if diff := cmp.Diff(quoteToStore(t), loaded); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
}

func TestQuoteStoredFormIsLossless(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPurchase(t, pricingtest.CartOptions{})
		for i := range p.cart.Lines {
			p.cart.Lines[i].ID = rapid.String().Draw(t, "id")
		}
		q := p.price(t)
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatalf("marshalling: %v", err)
		}
		var loaded pricing.Quote
		if err := json.Unmarshal(text, &loaded); err != nil {
			t.Fatalf("unmarshalling %s: %v", text, err)
		}
		if diff := cmp.Diff(q, loaded); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestTheZeroQuoteIsStored(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(pricing.Quote{})
	require.NoError(t, err)
	const want = `{"version":1,"currency":"","subtotal":"0","eligibleSubtotal":"0","discount":"0","shipping":"0","total":"0","lines":[]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	loaded := quoteToStore(t)
	require.NoError(t, json.Unmarshal(text, &loaded))
	if diff := cmp.Diff(pricing.Quote{}, loaded); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	kept := quoteToStore(t)
	require.NoError(t, json.Unmarshal([]byte("null"), &kept))
	require.NoError(t, kept.UnmarshalJSON([]byte("null")))
	if diff := cmp.Diff(quoteToStore(t), kept); diff != "" {
		t.Errorf("null changed the quote (-want +got):\n%s", diff)
	}
}

// A stored quote is checked again when it is loaded.
func TestUnmarshalRefusesATamperedQuote(t *testing.T) {
	t.Parallel()
	const (
		malformed = validation.Malformed
		mismatch  = validation.Mismatch
	)
	for _, c := range []struct {
		old, replacement string // where old stands first in storedQuote; units: last
		want             map[string]validation.Code
	}{
		{`"total": "74.90"`, `"total": "74.91"`, map[string]validation.Code{"total": mismatch}},
		{`"subtotal": "80.00"`, `"subtotal": "80.01"`, map[string]validation.Code{"subtotal": mismatch}},
		{`"eligibleSubtotal": "30.00"`, `"eligibleSubtotal": "80.00"`, map[string]validation.Code{"eligibleSubtotal": mismatch}},
		{`"discount": "10.00"`, `"discount": "9.00"`, map[string]validation.Code{"discount": mismatch}},
		{`"shipping": "4.90"`, `"shipping": "0"`, map[string]validation.Code{"shipping": mismatch}},
		{`"unitPrice": "10.00"`, `"unitPrice": "10.01"`, map[string]validation.Code{"lines[0].subtotal": mismatch}},
		{`"unitPrice": "6.67"`, `"unitPrice": "6.68"`, map[string]validation.Code{"lines[0].units": mismatch}},
		{`"unitPrice": "6.67"`, `"unitPrice": "six"`, map[string]validation.Code{
			"lines[0].units[0].unitPrice": malformed,
		}},
		{`"unitPrice": "6.67"`, `"unitPrice": true`, map[string]validation.Code{"lines[0].units[0].unitPrice": malformed}},
		{`"quantity": 3`, `"quantity": 1.5`, map[string]validation.Code{"lines[0].quantity": validation.TooManyDecimals}},
		{`"quantity": 3`, `"quantity": 1e400`, map[string]validation.Code{"lines[0].quantity": validation.TooLarge}},
		{`"quantity": 3`, `"quantity": 0`, map[string]validation.Code{"lines[0].quantity": validation.TooSmall}},
		{`"quantity": 3`, `"quantity": {}`, map[string]validation.Code{"lines[0].quantity": malformed}},
		{`"unitPrice": "50.00"`, `"unitPrice": "-50.00"`, map[string]validation.Code{"lines[1].unitPrice": validation.TooSmall}},
		{`"unitPrice": "50.00"`, `"unitPrice": "50.001"`, map[string]validation.Code{"lines[1].unitPrice": validation.TooManyDecimals}},
		{`"kind": "plan"`, `"kind": "gift"`, map[string]validation.Code{"lines[0].recurs": validation.NotAllowed}},
		{`"kind": "plan"`, `"kind": "device"`, map[string]validation.Code{"lines[0].recurs": validation.NotAllowed}},
		{`"kind": "plan"`, `"kind": 3`, map[string]validation.Code{"lines[0].kind": malformed}},
		{`"recurs": "month"`, `"recurs": "moon"`, map[string]validation.Code{"lines[0].recurs": validation.Unknown}},
		{`"eligible": true`, `"eligible": false`, map[string]validation.Code{"lines[0].discount": validation.NotAllowed}},
		{`"currency": "EUR"`, `"currency": "XXX"`, map[string]validation.Code{"currency": validation.Unknown}},
		{`"currency": "EUR"`, `"currency": "JPY"`, nil},
		{`"currency": "EUR"`, `"currency": ""`, nil},
		{`"currency": "EUR"`, `"currency": 5`, map[string]validation.Code{"currency": malformed}},
		{`"subtotal": "80.00",`, ``, map[string]validation.Code{"subtotal": validation.Required}},
		{`"subtotal": "80.00"`, `"subtotal": [80]`, map[string]validation.Code{"subtotal": malformed}},
		{`"lines": [`, `"lines": null, "others": [`, map[string]validation.Code{"lines": malformed}},
		{`"lines": [`, `"lines": "none", "others": [`, map[string]validation.Code{"lines": malformed}},
		{`"lines": [`, `"lines": [5, `, map[string]validation.Code{"lines[0]": malformed}},
		{`"units": [`, `"units": "none", "others": [`, map[string]validation.Code{"lines[2].units": malformed}},
		{`"units": [`, `"others": [`, map[string]validation.Code{"lines[2].units": mismatch}},
		{`"units": [`, `"units": [{"quantity":1,"unitPrice":"0"},`, map[string]validation.Code{"lines[2].units": mismatch}},
		{`"units": [`, `"units": [{"quantity":1,"unitPrice":"0"},{"quantity":1,"unitPrice":"0"},`, map[string]validation.Code{"lines[2].units": mismatch}},
		{`"units": [`, `"units": [{}` + strings.Repeat(",{}", 65) + `,`, map[string]validation.Code{"lines[2].units": validation.TooLong}},
	} {
		t.Run(c.old+" to "+c.replacement, func(t *testing.T) {
			t.Parallel()
			at := strings.Index(storedQuote, c.old)
			if strings.Contains(c.old, "units") {
				at = strings.LastIndex(storedQuote, c.old)
			}
			require.GreaterOrEqual(t, at, 0)
			document := storedQuote[:at] + c.replacement + storedQuote[at+len(c.old):]
			kept := quoteToStore(t)
			err := json.Unmarshal([]byte(document), &kept)
			require.ErrorIs(t, err, validation.ErrInvalid)
			if diff := cmp.Diff(quoteToStore(t), kept); diff != "" {
				t.Errorf("a refused document changed the quote (-want +got):\n%s", diff)
			}
			if c.want == nil {
				return
			}
			if diff := cmp.Diff(c.want, faultsOf(err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnmarshalIsBounded(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("{},", pricing.MaxLines) + "{}"
	var q pricing.Quote
	wantField(t, json.Unmarshal([]byte(`{"lines":[`+lines+`]}`), &q), "lines", validation.TooLong)
	longest := strings.Replace(storedQuote, "{", "{"+strings.Repeat(" ", 40<<20-len(storedQuote)), 1)
	require.NoError(t, q.UnmarshalJSON([]byte(longest)))
	wantField(t, q.UnmarshalJSON([]byte(longest+" ")), "", validation.TooLong)
	wantField(t, q.UnmarshalJSON([]byte(`{"lines":`)), "", validation.Malformed)
}

// TestALongIDThatWasStoredIsRead: IDs are bounded when a cart is priced, and when a quote
// is frozen; what was stored before they were is read, and written as it is.
func TestALongIDThatWasStoredIsRead(t *testing.T) {
	t.Parallel()
	grow := func(id string) (pricing.Quote, error) {
		var q pricing.Quote
		return q, q.UnmarshalJSON([]byte(strings.Replace(storedQuote, `"id": "A"`, `"id": "`+id+`"`, 1)))
	}
	q, err := grow(strings.Repeat("A", 256))
	require.NoError(t, err)
	wantField(t, q.Validate(), "lines[0].id", validation.TooLong)
	text, err := q.MarshalJSON()
	require.NoError(t, err)
	var again pricing.Quote
	require.NoError(t, again.UnmarshalJSON(text))
	require.True(t, again.Equal(q))

	q, err = grow(strings.Repeat("<", 10<<20)) // written in six bytes each
	require.NoError(t, err)
	_, err = q.MarshalJSON()
	wantField(t, err, "", validation.TooLong)
}

// A form that has grown since still loads.
func TestUnmarshalIgnoresWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	var q pricing.Quote
	grown := strings.Replace(storedQuote, `"currency"`, `"fingerprint": [1, {"a": 2}], "currency"`, 1)
	require.NoError(t, json.Unmarshal([]byte(grown), &q))
	if diff := cmp.Diff(quoteToStore(t), q); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarshalRefusesWhatCouldNotBeLoaded(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*pricing.Quote){
		"total":           func(q *pricing.Quote) { q.Total++ },
		"lines[0].id":     func(q *pricing.Quote) { q.Lines[0].ID = "\xff" },
		"lines[1].itemId": func(q *pricing.Quote) { q.Lines[1].ItemID = "phone\x80" },
	} {
		q := quoteToStore(t)
		change(&q)
		_, err := q.MarshalJSON()
		if got := faultsOf(err); len(got) != 1 || got[field] == "" {
			t.Errorf("%s: got %v", field, got)
		}
	}
}

// TestAppendJSON: it writes what MarshalJSON writes. It does not panic for a quote whose lines were changed.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	tenth, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	lines := []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 9_99}}
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: lines},
		pricing.Terms{ID: "1", Group: "a", Discount: pricing.PercentOff(tenth)}, pricing.Terms{ID: "2", Group: "b", Discount: pricing.PercentOff(tenth)})
	require.NoError(t, err)
	want, err := q.MarshalJSON()
	require.NoError(t, err)
	got, err := q.AppendJSON([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before"+string(want), string(got))
	q.Lines = append(q.Lines, q.Lines...)
	_, err = q.AppendJSON(nil)
	require.NotEmpty(t, faultsOf(err)["coupons"])
}

// Validate sees every amount that does not hold.
func TestQuoteValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, pricing.Quote{}.Validate())
	for name, c := range map[string]struct {
		change func(*pricing.Quote)
		want   map[string]validation.Code
	}{
		"nothing": {func(*pricing.Quote) {}, map[string]validation.Code{}},
		"no currency": {
			func(q *pricing.Quote) { q.Currency = pricing.Currency{} },
			map[string]validation.Code{"currency": validation.Required},
		},
		"every total": {
			func(q *pricing.Quote) {
				q.Subtotal++
				q.EligibleSubtotal++
				q.Discount++
				q.Shipping++
				q.Total--
			},
			map[string]validation.Code{
				"subtotal": validation.Mismatch, "eligibleSubtotal": validation.Mismatch, "discount": validation.Mismatch,
				"shipping": validation.Mismatch, "total": validation.Mismatch,
			},
		},
		"a discount that adds": {
			func(q *pricing.Quote) { q.Lines[0].Discount, q.Lines[0].Total = -1, 3001 },
			map[string]validation.Code{"lines[0].discount": validation.TooSmall},
		},
		"a line below zero": {
			func(q *pricing.Quote) { q.Lines[0].Discount, q.Lines[0].Total = 3001, -1 },
			map[string]validation.Code{"lines[0].discount": validation.TooLarge},
		},
		"all of a line": {
			func(q *pricing.Quote) {
				q.Lines[0].Discount, q.Lines[0].Total, q.Discount, q.Total = 3000, 0, 3000, 5490
				q.Coupons[0].Discount = 3000
			},
			map[string]validation.Code{},
		},
		"an excluded line discounted": {
			func(q *pricing.Quote) { q.Lines[1].Discount, q.Lines[1].Total = 1, 4999 },
			map[string]validation.Code{"lines[1].discount": validation.NotAllowed},
		},
		"shipping covered": {
			func(q *pricing.Quote) { q.Lines[2].Eligible = true },
			map[string]validation.Code{"lines[2].eligible": validation.NotAllowed},
		},
		"a line total": {
			func(q *pricing.Quote) { q.Lines[2].Total++ },
			map[string]validation.Code{"lines[2].total": validation.Mismatch},
		},
		"a line subtotal": {
			func(q *pricing.Quote) { q.Lines[1].Subtotal++; q.Lines[1].Total++ },
			map[string]validation.Code{"lines[1].subtotal": validation.Mismatch},
		},
		"a malformed line": {
			func(q *pricing.Quote) { q.Lines[1].Kind = "" },
			map[string]validation.Code{"lines[1].kind": validation.Required},
		},
		"a sum beyond 64 bits": {
			func(q *pricing.Quote) { addFortune(q, pricing.Device); addFortune(q, pricing.Device) },
			map[string]validation.Code{"total": validation.Overflow},
		},
		"shipping beyond 64 bits": {
			func(q *pricing.Quote) { addFortune(q, pricing.Shipping); addFortune(q, pricing.Shipping) },
			map[string]validation.Code{"total": validation.Overflow},
		},
		"goods and shipping beyond 64 bits": {
			func(q *pricing.Quote) { addFortune(q, pricing.Shipping); addFortune(q, pricing.Device) },
			map[string]validation.Code{"total": validation.Overflow},
		},
		"long names": {
			func(q *pricing.Quote) {
				q.Lines[0].ID, q.Lines[2].ItemID = strings.Repeat("é", 256), strings.Repeat("é", 256)
				q.Lines[1].ID, q.Lines[1].ItemID = strings.Repeat("é", 255), strings.Repeat("é", 255)
			},
			map[string]validation.Code{"lines[0].id": validation.TooLong, "lines[2].itemId": validation.TooLong},
		},
		"too many lines": {
			func(q *pricing.Quote) { q.Lines = make([]pricing.QuotedLine, pricing.MaxLines+1) },
			map[string]validation.Code{"lines": validation.TooLong},
		},
	} {
		q := quoteToStore(t)
		c.change(&q)
		if diff := cmp.Diff(c.want, faultsOf(q.Validate())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// addFortune appends a line of more than half of what 63 bits hold.
func addFortune(q *pricing.Quote, kind pricing.LineKind) {
	const fortune = 1 << 62
	q.Lines = append(q.Lines, pricing.QuotedLine{
		Line:     pricing.Line{ID: fmt.Sprint(len(q.Lines)), Kind: kind, Quantity: 1, UnitPrice: fortune},
		Subtotal: fortune, Total: fortune,
	})
}

// TestAShortTextAsksForLittle: entries of three bytes each do not become lines of hundreds.
func TestAShortTextAsksForLittle(t *testing.T) {
	text := []byte(`{"lines":[` + strings.Repeat("{},", 5<<20) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantField(t, new(pricing.Quote).UnmarshalJSON(text), "lines", validation.TooLong)
	runtime.ReadMemStats(&after)
	if asked := after.TotalAlloc - before.TotalAlloc; asked > uint64(4*len(text)) {
		t.Errorf("%d bytes of text asked for %d bytes of memory", len(text), asked)
	}
}

func BenchmarkQuoteUnmarshalJSON(b *testing.B) {
	for _, lines := range []int{1, 10, 100} {
		cart := pricing.Cart{Currency: pricing.EUR()}
		for i := range lines {
			cart.Lines = append(cart.Lines, pricing.Line{
				ID: fmt.Sprint("line-", i), Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: int64(999 + i),
			})
		}
		percent, err := pricing.ParsePercent("12.5")
		require.NoError(b, err)
		quote, err := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent)})
		require.NoError(b, err)
		text, err := json.Marshal(quote)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("lines=%d", lines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var q pricing.Quote
				if err := q.UnmarshalJSON(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Paths and words are the same on every Go version, for each field and at each depth.
func TestWhatIsWrongWithAStoredQuote(t *testing.T) {
	t.Parallel()
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000},
	}}, pricing.Terms{})
	require.NoError(t, err)
	text, err := json.Marshal(q)
	require.NoError(t, err)
	replaced := func(old, by string) string {
		require.Contains(t, string(text), old)
		return strings.Replace(string(text), old, by, 1)
	}
	for document, want := range map[string]string{
		replaced(`"subtotal":"30.00"`, `"subtotal":[]`):                     "subtotal: must be a decimal number, bare or as text",
		replaced(`"version":1`, `"version":"1"`):                            "version: must be a whole number",
		replaced(`"currency":"EUR"`, `"currency":1`):                        "currency: must be text",
		replaced(`"quantity":3`, `"quantity":{}`):                           "lines[0].quantity: must be a whole number",
		replaced(`"quantity":3`, `"quantity":"x"`):                          "lines[0].quantity: must be a whole number",
		replaced(`"id":"A"`, `"id":["A"]`):                                  "lines[0].id: must be text",
		replaced(`"eligible":true`, `"eligible":"true"`):                    "lines[0].eligible: must be true or false",
		replaced(`"units":[`, `"units":{"a":1},"x":[`):                      "lines[0].units: must be a list",
		replaced(`{"quantity":3,"unitPrice"`, `{"quantity":3,"unitPrices"`): "lines[0].units[0].unitPrice: a number is required",
		replaced(`"unitPrice":"10.00"}`, `"unitPrice":true}`):               "lines[0].units[0].unitPrice: must be a decimal number, bare or as text",
		`{"lines":[7]}`: "lines[0]: a JSON object is expected",
		`{"coupons":[{"terms":{"discountType":5,"discountValue":"10"}}]}`: "coupons[0].terms.discountType: must be text",
		`{"coupons":[{"lines":["x"]}]}`:                                   "coupons[0].lines[0]: must be a whole number",
		`[]`:                                                              "a JSON object is expected",
	} {
		var loaded pricing.Quote
		err := loaded.UnmarshalJSON([]byte(document))
		require.ErrorIs(t, err, validation.ErrInvalid, document)
		require.Contains(t, strings.Split(strings.TrimPrefix(err.Error(), "invalid input: "), "; "), want, "%s: %v", document, err)
	}
	for end := range len(text) {
		var loaded pricing.Quote
		require.EqualError(t, loaded.UnmarshalJSON(text[:end]), "invalid input: the JSON text ends too early", "%s", text[:end])
	}
}
