package coupon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Conditions of the cart are read, written, changed and taken away like other terms. One that a coupon does
// not have is absent.
func TestConditionsOfTheCart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, written, other string }{
		"maxQuantity": {`2.0`, `2`, `3`},
		"contains": {
			`{"kinds":["device"],"categories":["new"],"quantity":1e0}`, `{"appliesTo":"ALL","kinds":["device"],"categories":["new"],"quantity":1}`,
			`{"kinds":["device"],"categories":["new"],"quantity":2}`,
		},
		"contains an amount": {
			`{"kinds":["device"],"minPurchase":50}`, `{"appliesTo":"ALL","kinds":["device"],"quantity":1,"minPurchase":"50.00"}`,
			`{"kinds":["device"],"minPurchase":"50.01"}`,
		},
		"contains units and amounts": {
			`{"quantity":2,"minPurchase":{"USD":"55","EUR":"50.00"}}`, `{"appliesTo":"ALL","quantity":2,"minPurchase":{"EUR":"50.00","USD":"55.00"}}`,
			`{"quantity":2,"minPurchase":"50.00"}`,
		},
		"contains no amount": {`{"minPurchase":"0"}`, `{"appliesTo":"ALL","quantity":1}`, `{"minPurchase":"0.01"}`},
		"containsNot":        {`{"categories":["sale"]}`, `{"appliesTo":"ALL","categories":["sale"]}`, `{"categories":["sale","new"]}`},
		"maxPurchase":        {`{"EUR":"20"}`, `"20.00"`, `{"EUR":"20","USD":25}`},
	} {
		field, _, _ := strings.Cut(name, " ")
		var draft coupon.Draft
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",%q:%s}`, field, test.given), &draft))
		c, err := coupon.New(draft, coupon.Creation{ID: "cpn_1", At: noon})
		require.NoError(t, err)
		for _, document := range []any{c, c.Terms, c.Snapshot()} {
			text, err := json.Marshal(document)
			require.NoError(t, err)
			require.Contains(t, string(text), fmt.Sprintf(`%q:%s`, field, test.written))
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		var read coupon.Coupon
		require.NoError(t, json.Unmarshal(text, &read))
		require.True(t, read.Terms.Equal(c.Terms))

		change := func(value string) coupon.Coupon {
			var patch coupon.Patch
			require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{%q:%s}`, field, value), &patch))
			changed, err := c.Apply(patch, coupon.Edit{At: noon})
			require.NoError(t, err)
			return changed
		}
		require.True(t, change(test.given).Terms.Equal(c.Terms))
		require.False(t, change(test.other).Terms.Equal(c.Terms))
		none := change(`null`)
		require.True(t, none.Conditions.Equal(coupon.Conditions{}))
		text, err = json.Marshal(none)
		require.NoError(t, err)
		require.NotContains(t, string(text), fmt.Sprintf(`%q:`, field))
	}
}

// The lists of channels and of countries are read, written, changed and taken away like other terms.
func TestChannelsAndCountries(t *testing.T) {
	t.Parallel()
	for field, entries := range map[string]string{"channels": `["web","Läden"]`, "countries": `["AT","CH"]`} {
		var draft coupon.Draft
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",%q:%s}`, field, entries), &draft))
		c, err := coupon.New(draft, coupon.Creation{ID: "cpn_1", At: noon})
		require.NoError(t, err)
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.Contains(t, string(text), fmt.Sprintf(`%q:%s`, field, entries))
		text, err = json.Marshal(c.Snapshot())
		require.NoError(t, err)
		require.Contains(t, string(text), fmt.Sprintf(`%q:%s`, field, entries))

		change := func(value string) coupon.Coupon {
			var patch coupon.Patch
			require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{%q:%s}`, field, value), &patch))
			changed, err := c.Apply(patch, coupon.Edit{At: noon})
			require.NoError(t, err)
			return changed
		}
		require.True(t, change(entries).Terms.Equal(c.Terms))
		require.False(t, change(`["XX"]`).Terms.Equal(c.Terms))
		require.True(t, change(`null`).Conditions.Equal(coupon.Conditions{}))
		require.True(t, change(`[]`).Conditions.Equal(coupon.Conditions{}))
	}
}

// Every entry that no sale can have is named.
func TestFaultsOfChannelsAndCountries(t *testing.T) {
	t.Parallel()
	draft := coupon.Draft{
		Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10",
		Channels: []string{"web", "", " web", strings.Repeat("x", coupon.MaxTagLength+1)}, Countries: []string{"DE", "de", "DEU", "D1"},
	}
	_, err := coupon.New(draft, coupon.Creation{ID: "cpn_1", At: noon})
	for _, field := range []string{"channels[1]", "channels[2]", "channels[3]", "countries[1]", "countries[2]", "countries[3]"} {
		require.ErrorContains(t, err, field+": ")
	}
	require.NotContains(t, err.Error(), "[0]")
	draft.Channels, draft.Countries = nil, nil
	for i := range coupon.MaxCountries + 1 {
		draft.Channels = append(draft.Channels, fmt.Sprint("channel", i))
		draft.Countries = append(draft.Countries, string([]byte{byte('A' + i/26%26), byte('A' + i%26)}))
	}
	_, err = coupon.New(draft, coupon.Creation{ID: "cpn_1", At: noon})
	require.ErrorContains(t, err, fmt.Sprintf("channels: at most %d", coupon.MaxChannels))
	require.ErrorContains(t, err, fmt.Sprintf("countries: at most %d", coupon.MaxCountries))
	draft.Channels, draft.Countries = draft.Channels[:coupon.MaxChannels], draft.Countries[:coupon.MaxCountries]
	_, err = coupon.New(draft, coupon.Creation{ID: "cpn_1", At: noon})
	require.NoError(t, err)
}
