package pricing_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

const storedRefund = `{"version":1,"currency":"EUR","amount":"6.67","subtotal":"10.00","shipping":"0.00",` +
	`"lines":[{"line":0,"quantity":1,"amount":"6.67"}],"coupons":[{"id":"ten","discount":"3.33"}]}`

func TestRefundAsJSON(t *testing.T) {
	t.Parallel()
	want := pricing.Refund{
		Currency: pricing.EUR(), Amount: 667, Subtotal: 1000, Lines: []pricing.RefundedLine{{Line: 0, Quantity: 1, Amount: 667}},
		Coupons: []pricing.RefundedCoupon{{ID: "ten", Discount: 333}},
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, storedRefund, string(text))
	var read pricing.Refund
	require.NoError(t, json.Unmarshal(text, &read))
	require.True(t, want.Equal(read))
	require.NoError(t, json.Unmarshal([]byte("null"), &read))
	require.True(t, want.Equal(read))
}

func TestRefundThatIsNone(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range pricing.MaxLines + 1 {
		fmt.Fprintf(&lines, `{"line":%d,"quantity":1,"amount":"0"},`, i)
	}
	for _, c := range []struct {
		old, changed, field string
		code                validation.Code
	}{
		{`"version":1`, `"version":2`, "version", validation.Unknown},
		{`"version":1,`, ``, "version", validation.Required},
		{`EUR`, `EURO`, "currency", validation.Unknown},
		{`"amount":"6.67","s`, `"amount":"6.68","s`, "amount", validation.Mismatch},
		{`"amount":"6.67","s`, `"amount":"-6.67","s`, "amount", validation.TooSmall},
		{`"amount":"6.67","s`, `"amount":{},"s`, "amount", validation.Malformed},
		{`"subtotal":"10.00"`, `"subtotal":"10.001"`, "subtotal", validation.TooManyDecimals},
		{`"quantity":1`, `"quantity":0`, "lines[0].quantity", validation.TooSmall},
		{`"quantity":1`, `"quantity":1.5`, "lines[0].quantity", validation.TooManyDecimals},
		{`"amount":"6.67"}`, `"amount":"-1"}`, "lines[0].amount", validation.TooSmall},
		{`"line":0`, `"line":-1`, "lines[0].line", validation.Mismatch},
		{`"line":0`, `"line":10000`, "lines[0].line", validation.Mismatch},
		{`{"line":0`, `{"line":3,"quantity":1,"amount":"0"},{"line":3`, "lines[1].line", validation.Mismatch},
		{`{"line":0`, lines.String() + `{"line":0`, "lines", validation.TooLong},
		{`"ten"`, `"` + strings.Repeat("x", 256) + `"`, "coupons[0].id", validation.TooLong},
		{`"3.33"`, `"-3.33"`, "coupons[0].discount", validation.TooSmall},
		{`"3.33"`, `"x"`, "coupons[0].discount", validation.Malformed},
		{`"shipping"`, `"x":`, "", validation.Malformed},
	} {
		text := strings.Replace(storedRefund, c.old, c.changed, 1)
		require.NotEqual(t, storedRefund, text)
		var read pricing.Refund
		wantField(t, read.UnmarshalJSON([]byte(text)), c.field, c.code)
		require.True(t, read.Equal(pricing.Refund{}), "a refund beside an error")
	}
	var read pricing.Refund
	wantField(t, read.UnmarshalJSON(make([]byte, 3<<20)), "", validation.TooLong)
	_, err := json.Marshal(pricing.Refund{})
	wantField(t, err, "currency", validation.Required)
}

func TestReturnsAsJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.Returns{
		`{"all":true}`:      {All: true},
		`{"shipping":true}`: {Shipping: true},
		`{"returns":[{"line":0,"quantity":2},{"line":3,"whole":true}]}`: {Lines: []pricing.LineReturn{{Line: 0, Quantity: 2}, {Line: 3, Whole: true}}},
	} {
		written, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, text, string(written))
		var read pricing.Returns
		require.NoError(t, json.Unmarshal([]byte(text), &read))
		require.Equal(t, want.All, read.All)
		require.Equal(t, want.Shipping, read.Shipping)
		require.Len(t, read.Lines, len(want.Lines))
		for i := range want.Lines {
			require.Equal(t, want.Lines[i], read.Lines[i])
		}
	}
}

func TestReturnsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]validation.Code{
		`[]`:                  {"": validation.Malformed},
		`{"everything":true}`: {"everything": validation.Unknown},
		`{"all":1,"shipping":"yes","returns":{}}`: {
			"all": validation.Malformed, "shipping": validation.Malformed, "returns": validation.Malformed,
		},
		`{"all":true,"all":true}`: {"all": validation.Malformed},
		`{"returns":[{"quantity":1},{"line":1.5},{"line":0,"quantity":"1"},5,{"line":0,"whole":0}]}`: {
			"returns[0].line": validation.Required, "returns[1].line": validation.Malformed,
			"returns[2].quantity": validation.Malformed, "returns[3]": validation.Malformed, "returns[4].whole": validation.Malformed,
		},
		`{"returns":[` + strings.Repeat(`{"line":0},`, pricing.MaxLines) + `{"line":0}]}`: {"returns": validation.TooLong},
		strings.Repeat(" ", pricing.MaxReturnsDocument+1):                                 {"": validation.TooLong},
	} {
		read := pricing.Returns{All: true}
		err := read.UnmarshalJSON([]byte(text))
		require.Equal(t, want, faultsOf(err), "%.80s", text)
		require.True(t, read.All)
	}
}

// A quote keeps what a refund of it needs.
func TestQuoteKeepsRefundTerms(t *testing.T) {
	t.Parallel()
	q := refundable(t)
	require.NotContains(t, text(t, q), `"refund"`)
	priced, err := pricing.Price(pricing.Cart{Currency: pricing.EUR()}, pricing.Terms{
		ID: "a", Discount: pricing.PercentOff(percent(t, "10")), Refund: pricing.RefundTerms{Policy: pricing.Rebill, MinPurchase: 5000, MinQuantity: 2},
	})
	require.NoError(t, err)
	const want = `"refund":{"policy":"rebill","minPurchase":"50.00","minQuantity":2}`
	document := text(t, priced)
	require.Contains(t, document, want)
	require.True(t, stored(t, priced).Equal(priced))
	for changed, field := range map[string]string{
		`"policy":"burn"`:       "coupons[0].refund.policy",
		`"minPurchase":"-1.00"`: "coupons[0].refund.minPurchase",
		`"minQuantity":-1`:      "coupons[0].refund.minQuantity",
	} {
		name, _, _ := strings.Cut(changed, ":")
		at := strings.Index(document, name)
		end := at + strings.IndexAny(document[at:], ",}")
		var read pricing.Quote
		err := read.UnmarshalJSON([]byte(document[:at] + changed + document[end:]))
		require.Contains(t, faultsOf(err), field)
	}
	_, err = pricing.Price(pricing.Cart{Currency: pricing.EUR()}, pricing.Terms{Refund: pricing.RefundTerms{Policy: 3, MinPurchase: -1, MinQuantity: -1}})
	require.Equal(t, map[string]validation.Code{
		"refund.policy": validation.Unknown, "refund.minPurchase": validation.TooSmall, "refund.minQuantity": validation.TooSmall,
	}, faultsOf(err))
}

func text(t *testing.T, v any) string {
	t.Helper()
	written, err := json.Marshal(v)
	require.NoError(t, err)
	return string(written)
}

func TestRefundPolicies(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]pricing.RefundPolicy{"keep": pricing.Keep, "rebill": pricing.Rebill} {
		written, err := p.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(written))
		require.Equal(t, "pricing.RefundPolicy("+name+")", fmt.Sprintf("%#v", p))
		var read pricing.RefundPolicy
		require.NoError(t, read.UnmarshalText(written))
		require.Equal(t, p, read)
	}
	p := pricing.Rebill
	wantField(t, p.UnmarshalText([]byte("Keep")), "", validation.Unknown)
	require.Zero(t, p)
	for _, none := range []pricing.RefundPolicy{0, 3} { // unset and unknown
		_, err := none.MarshalText()
		wantField(t, err, "", validation.Unknown)
		require.Empty(t, none.String())
	}
}

// An unset policy becomes the usual policy of the discount. A policy that is given stays.
func TestUsualRefundPolicies(t *testing.T) {
	t.Parallel()
	for discount := pricing.Percentage; discount <= pricing.Tiered; discount++ {
		want := pricing.Keep
		if discount == pricing.BuyXGetY {
			want = pricing.Rebill
		}
		require.Equal(t, want, pricing.RefundPolicy(0).For(discount), discount)
		require.Equal(t, pricing.Keep, pricing.Keep.For(discount), discount)
		require.Equal(t, pricing.Rebill, pricing.Rebill.For(discount), discount)
	}
}

// A quote has the usual policy of each discount, also after it was stored. A quote with an unset
// policy is refused.
func TestAQuoteHasRefundPolicies(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: "book", Quantity: 3, UnitPrice: 1000}}}
	for kind, discount := range goldenDiscounts(t) {
		want := pricing.RefundPolicy(0).For(discount.Type())
		q, err := pricing.Price(cart, pricing.Terms{ID: "a", Discount: discount})
		require.NoError(t, err)
		require.Equal(t, pricing.RefundTerms{Policy: want}, q.Coupons[0].Refund, kind)
		require.Equal(t, want == pricing.Rebill, strings.Contains(text(t, q), `"refund":{"policy":"rebill"}`), kind)
		require.True(t, stored(t, q).Equal(q), kind)
		q.Coupons[0].Refund.Policy = 0
		wantField(t, q.Validate(), "coupons[0].refund.policy", validation.Required)
	}
}

func FuzzReturnsJSON(f *testing.F) {
	f.Add([]byte(`{"returns":[{"line":0,"quantity":2},{"line":3,"whole":true}],"shipping":true}`))
	f.Add([]byte(`{"all":true}`))
	f.Add([]byte(`{"returns":[{"line":1e2,"quantity":9223372036854775807}]}`))
	cart, terms := randomCase(rand.New(rand.NewPCG(3, 41)))
	q, err := pricing.Price(cart, terms...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var now pricing.Returns
		if err := now.UnmarshalJSON(data); err != nil {
			if len(faultsOf(err)) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		written, err := json.Marshal(now)
		if err != nil {
			t.Fatal(err)
		}
		var again pricing.Returns
		if err := again.UnmarshalJSON(written); err != nil || len(again.Lines) != len(now.Lines) {
			t.Fatalf("%s is read as %+v: %v", written, again, err)
		}
		refund, err := q.Refund(pricing.Refunded{}, now)
		if err == nil && refund.Validate() != nil || err != nil && len(faultsOf(err)) == 0 {
			t.Fatalf("%s refunds %+v: %v", written, refund, err)
		}
	})
}

func FuzzRefundJSON(f *testing.F) {
	f.Add([]byte(storedRefund))
	f.Add([]byte(`{"version":1,"currency":"JPY","amount":"0","subtotal":0,"shipping":0,"lines":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r pricing.Refund
		if err := r.UnmarshalJSON(data); err != nil {
			if len(faultsOf(err)) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		if r.Currency.IsZero() {
			return // the JSON value null
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("what was loaded cannot be stored: %v", err)
		}
		var again pricing.Refund
		if err := again.UnmarshalJSON(written); err != nil || !again.Equal(r) {
			t.Fatalf("%s is loaded as %+v, %v", written, again, err)
		}
	})
}
