package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// FuzzProgram sends any bytes as standard input. Whatever they are, the program
// answers or names what is wrong, and its answers add up.
func FuzzProgram(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var out, diagnostics bytes.Buffer
		status := run(bytes.NewReader(input), &out, &diagnostics, noon)
		switch {
		case status == statusFailed:
			t.Fatalf("nothing failed but the program: %s", diagnostics.String())
		case (status == statusDone) != (diagnostics.Len() == 0):
			t.Fatalf("status %d with %q", status, diagnostics.String())
		}
		dec := json.NewDecoder(&out)
		dec.DisallowUnknownFields()
		for {
			var r result
			if err := dec.Decode(&r); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("a result is no JSON: %v", err)
			}
			r.check(t)
		}
	})
}

// FuzzStrictFields compares the program's reading of an object with that of
// encoding/json: the same fields, or both refuse.
func FuzzStrictFields(f *testing.F) {
	f.Add([]byte(`{"id":"a","email":"\u0061\"\\"}`))
	f.Add([]byte(` { "id" : null , "email" : [1,{"x":"}]"}, "\\"] } `))
	f.Add([]byte(`{"id":1e5,"x":{"y":[{},[],"",{"z":false}]}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		var want map[string]json.RawMessage
		if !utf8.Valid(input) || json.Unmarshal(input, &want) != nil || want == nil {
			return
		}
		input = bytes.TrimSpace(input)
		got := map[string]json.RawMessage{}
		for name, value := range members(input) {
			got[name] = value
		}
		require.Len(t, got, len(want))
		for name, value := range got {
			require.Equal(t, string(want[name]), string(value), name)
			if value[0] != '[' {
				continue
			}
			var elementsWanted []json.RawMessage
			require.NoError(t, json.Unmarshal(value, &elementsWanted))
			count := 0
			for i, element := range elements(value) {
				require.Equal(t, string(elementsWanted[i]), string(element))
				count++
			}
			require.Len(t, elementsWanted, count)
		}
	})
}

func seeds(f *testing.F) [][]byte {
	f.Helper()
	list := [][]byte{
		[]byte(contractDocument), []byte(small("a") + small("b")), []byte(`{"id":"a","lines":[}`), []byte(`[`),
		{0xff},
		[]byte(withTerms(`"distribution":"USER_SPECIFIC","allowedUserEmails":"a@b.c,\nd"`)),
		[]byte(withTerms(`"minPurchase":1e2,"maxUses":null,"expiresAt":"2026-12-31"`)),
	}
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "reasons.json"))
	require.NoError(f, err)
	var vectors []vector
	require.NoError(f, json.Unmarshal(text, &vectors))
	for _, v := range vectors {
		list = append(list, v.Input)
	}
	return list
}

// result is an answer as its reader sees it.
type result struct {
	ID                                                    string
	Applied                                               bool
	Currency                                              pricing.Currency
	Subtotal, EligibleSubtotal, Discount, Shipping, Total pricing.Number
	Lines                                                 []resultLine
	Rejections                                            []struct {
		Code, Message string
		Params        map[string]any
	}
}

type resultLine struct {
	ID                        string
	Eligible                  bool
	Subtotal, Discount, Total pricing.Number
	Units                     []struct {
		Quantity  int64
		UnitPrice pricing.Number
	}
}

// check holds the answer to contract section 2: the parts sum to the whole, and
// nothing is discounted that is not eligible or below 0.
func (r result) check(t *testing.T) {
	t.Helper()
	amount := func(n pricing.Number) int64 {
		minor, err := r.Currency.Parse(string(n))
		require.NoError(t, err)
		require.GreaterOrEqual(t, minor, int64(0))
		return minor
	}
	var subtotal, eligible, discount int64
	for _, l := range r.Lines {
		require.Equal(t, amount(l.Subtotal), amount(l.Discount)+amount(l.Total), l.ID)
		subtotal += amount(l.Subtotal)
		discount += amount(l.Discount)
		if l.Eligible {
			eligible += amount(l.Subtotal)
		} else {
			require.Zero(t, amount(l.Discount), l.ID)
		}
		units := int64(0)
		for _, u := range l.Units {
			units += u.Quantity * amount(u.UnitPrice)
		}
		require.Equal(t, amount(l.Total), units, l.ID)
		require.LessOrEqual(t, len(l.Units), 2, l.ID)
	}
	require.Equal(t, amount(r.Subtotal)+amount(r.Shipping), subtotal)
	require.Equal(t, amount(r.EligibleSubtotal), eligible)
	require.Equal(t, amount(r.Discount), discount)
	require.Equal(t, amount(r.Total), amount(r.Subtotal)-amount(r.Discount)+amount(r.Shipping))
	require.LessOrEqual(t, discount, eligible)
	require.Equal(t, r.Applied, discount > 0, "a coupon applies when it takes something off")
	require.False(t, r.Applied && len(r.Rejections) > 0)
	for _, reason := range r.Rejections {
		require.NotEmpty(t, strings.TrimSpace(reason.Message), reason.Code)
		require.NotNil(t, reason.Params, reason.Code)
	}
}
