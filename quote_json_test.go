package couponkit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// A quote that a host sends to its frontend, or keeps, has its coupon, instant and
// fingerprint, and not only the prices of the quote within.
func TestQuoteAsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	for _, code := range []string{"TEN", ""} {
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(code), Customer: ann})
		require.NoError(t, err)
		text, err := json.Marshal(q)
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &fields))
		for _, name := range []string{"currency", "total", "lines", "at", "fingerprint"} {
			require.Contains(t, fields, name)
		}
		require.Equal(t, code != "", fields["terms"] != nil)
		var loaded couponkit.Quote
		require.NoError(t, json.Unmarshal(text, &loaded))
		if diff := cmp.Diff(q, loaded); diff != "" {
			t.Errorf("code %q (-want +got):\n%s", code, diff)
		}
		tampered := strings.Replace(string(text), `"shipping":"4.90"`, `"shipping":"4.80"`, 1)
		require.ErrorIs(t, json.Unmarshal([]byte(tampered), &loaded), validation.ErrInvalid)
		require.NoError(t, json.Unmarshal([]byte("null"), &loaded))
		require.NoError(t, loaded.UnmarshalJSON([]byte("null")))
		if diff := cmp.Diff(q, loaded); diff != "" {
			t.Errorf("code %q: a refused document changed the quote (-want +got):\n%s", code, diff)
		}
	}
}

// A quote is read back whatever it was priced with: the selections of a coupon may be longer
// than all that a cart has.
func TestQuoteOfALargeCouponAsJSON(t *testing.T) {
	t.Parallel()
	prices, err := pricing.Price(phones(), pricing.Terms{})
	require.NoError(t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	q := couponkit.Quote{Quote: prices, At: time.Unix(0, 0).UTC(), Fingerprint: "f", Terms: []coupon.Snapshot{{
		ID: "cpn_1", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.Specific, Plans: coupon.NewItems("plan")},
			RefundPolicy: pricing.Keep,
		},
	}}}
	text, err := q.MarshalJSON()
	require.NoError(t, err)
	long := strings.Repeat("x", 40<<20) // as a great many IDs are together
	var loaded couponkit.Quote
	err = loaded.UnmarshalJSON([]byte(strings.Replace(string(text), `"plan"`, `"`+long+`"`, 1)))
	require.NoError(t, err)
	q.Terms[0].Scope.Plans = coupon.NewItems(long)
	if !cmp.Equal(q, loaded) {
		t.Error("another quote is read back")
	}
	err = loaded.UnmarshalJSON([]byte(strings.Replace(string(text), `"plan"`, `"`+strings.Repeat("x", 97<<20)+`"`, 1)))
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// A failed test shows what a quote says, and not the memory that it keeps.
func TestAQuoteIsPrintedShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN", "NONE"}, Customer: ann, SkipRefused: true})
	require.NoError(t, err)
	want := fmt.Sprintf("%s; at 2026-11-20T12:00:00Z; fingerprint %s; left out: %s", q.Quote, q.Fingerprint, q.Refused)
	require.Equal(t, want, fmt.Sprintf("%+v", q))
	require.Equal(t, "couponkit.Quote("+want+")", fmt.Sprintf("%#v", q))
	require.Contains(t, want, "coupon_not_found")
	require.Less(t, len(want), 500)
	q.Refused = nil
	require.NotContains(t, q.String(), "left out")
}

// Whatever is accepted of the terms is written and read again to the same value. A value that
// would be lost is refused, at its path.
func TestTermsOfAQuoteAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only("TEN"), Customer: ann})
	require.NoError(t, err)
	text, err := json.Marshal(q)
	require.NoError(t, err)
	var document map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &document))
	var terms []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(document["terms"], &terms))
	require.Len(t, terms, 1)
	names := []string{"pointsRequired", "minPurchase", "maxPurchase", "minQuantity", "maxQuantity", "contains", "containsNot", "firstOrder", "schedule", "startsAt", "expiresAt", "terms", "group", "buys", "minPurchases", "refundPolicy", "restoreOnRefund", "kinds", "categories"}
	for name := range terms[0] {
		names = append(names, name)
	}
	required := []string{"appliesTo", "discountType", "distribution", "currency"}
	for _, name := range names {
		for _, value := range []string{"null", `""`, "0", "[]", "{}", "false", `"x"`, "absent"} {
			changed := maps.Clone(terms[0])
			changed[name] = json.RawMessage(value)
			if value == "absent" {
				delete(changed, name)
			}
			document["terms"], err = json.Marshal([]any{changed})
			require.NoError(t, err)
			changedText, err := json.Marshal(document)
			require.NoError(t, err)
			var read, again couponkit.Quote
			err = json.Unmarshal(changedText, &read)
			if slices.Contains(required, name) {
				require.Error(t, err, "%s: %s", name, value)
			}
			if err != nil {
				var invalid *validation.Error
				require.ErrorAs(t, err, &invalid, "%s: %s", name, value)
				require.True(t, strings.HasPrefix(invalid.Fields[0].Path, "terms[0]."+name), "%s: %s: %v", name, value, err)
				continue
			}
			written, err := json.Marshal(read)
			require.NoError(t, err, "%s: %s", name, value)
			require.NoError(t, json.Unmarshal(written, &again), "%s: %s: %s", name, value, written)
			if diff := cmp.Diff(read, again); diff != "" {
				t.Errorf("%s: %s (-read +again):\n%s", name, value, diff)
			}
		}
	}
}
