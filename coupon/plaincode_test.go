package coupon_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 4.3: a coupon can have no plain code, and JSON says so.
func TestACouponWithoutACode(t *testing.T) {
	t.Parallel()
	c, err := coupon.New(coupon.Draft{Name: "Members", DiscountType: pricing.Percentage, Percent: "10"}, creation)
	require.NoError(t, err)
	require.True(t, c.Code.IsZero())
	require.NoError(t, c.Validate())

	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"code"`)
	var read coupon.Coupon
	require.NoError(t, json.Unmarshal(text, &read))
	if diff := cmp.Diff(c, read); diff != "" {
		t.Errorf("read back from JSON (-want +got):\n%s", diff)
	}

	text, err = json.Marshal(coupon.Draft{Name: "Members", DiscountType: pricing.Percentage, Percent: "10"})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"Members","discountType":"PERCENTAGE","discountValue":"10","withoutCode":true}`, string(text))
	again, err := newFromJSON(string(text))
	require.NoError(t, err)
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("made from the JSON of its draft (-want +got):\n%s", diff)
	}
}

// A code that was forgotten in JSON is no choice of a coupon without a code.
func TestJSONSaysThatACouponHasNoCode(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]map[string]validation.Code{
		``:                     {"code": "required"},
		`"code":"",`:           {"code": "required"},
		`"code":" ",`:          {"code": "required"},
		`"code":null,`:         {"code": "required"},
		`"withoutCode":false,`: {"code": "required"},
		`"withoutCode":1,`:     {"withoutCode": "malformed"},
		`"automatic":{},`:      {"automatic": "malformed"}, // perhaps true
		`"automatic":{},"distribution":"POINTS_REDEEMABLE","pointsRequired":5,`: {"automatic": "malformed", "code": "required"}, // needs a code
		`"automatic":{},"distribution":{},`:                                     {"automatic": "malformed", "distribution": "malformed"},
		`"code":5,`:                                                             {"code": "malformed"},
		`"withoutCode":true,"code":5,`:                                          {"code": "malformed"},
		`"withoutCode":true,"code":"TEN",`:                                      {"withoutCode": "not_allowed"},
		`"withoutCode":true,`:                                                   nil,
		`"withoutCode":true,"code":null,`:                                       nil,
		`"withoutCode":false,"code":"A",`:                                       nil,
	} {
		_, err := newFromJSON(`{` + members + `"name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`)
		if want == nil {
			require.NoError(t, err, members)
			continue
		}
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", members, diff)
		}
	}
}

func TestACouponWithoutACodeGetsNone(t *testing.T) {
	t.Parallel()
	c, err := coupon.New(coupon.Draft{Name: "Members", DiscountType: pricing.Percentage, Percent: "10"}, creation)
	require.NoError(t, err)
	for _, same := range []coupon.Optional[string]{{}, coupon.Set(""), coupon.Clear[string]()} {
		changed, err := c.Apply(coupon.Patch{Code: same, Name: coupon.Set("Friends")}, coupon.Edit{At: creation.At})
		require.NoError(t, err)
		require.True(t, changed.Code.IsZero())
	}
	for _, other := range []string{"TEN", "a b", " "} {
		_, err := c.Apply(coupon.Patch{Code: coupon.Set(other)}, coupon.Edit{At: creation.At})
		if diff := cmp.Diff(map[string]validation.Code{"code": validation.Immutable}, fieldCodes(t, err)); diff != "" {
			t.Errorf("the code %q (-want +got):\n%s", other, diff)
		}
	}
}
