package coupon_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 4.15: an automatic coupon needs no code.
func TestAnAutomaticCoupon(t *testing.T) {
	t.Parallel()
	d := coupon.Draft{Name: "Welcome", DiscountType: pricing.Percentage, Percent: "10", Automatic: true}
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"Welcome","discountType":"PERCENTAGE","discountValue":"10","automatic":true}`, string(text))
	c, err := newFromJSON(string(text))
	require.NoError(t, err)
	require.True(t, c.Automatic && c.Code.IsZero())

	text, err = json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(text), `"automatic":true`)
	var read coupon.Coupon
	require.NoError(t, json.Unmarshal(text, &read))
	if diff := cmp.Diff(c, read); diff != "" {
		t.Errorf("read back from JSON (-want +got):\n%s", diff)
	}

	text, err = json.Marshal(c.Snapshot()) // the way by which customers reach a coupon is no term of an order
	require.NoError(t, err)
	require.NotContains(t, string(text), "automatic")
	var kept coupon.Snapshot
	require.NoError(t, json.Unmarshal(text, &kept))
	if diff := cmp.Diff(c.Snapshot(), kept); diff != "" {
		t.Errorf("a snapshot read back from JSON (-want +got):\n%s", diff)
	}
}

func TestWhatMayBeAutomatic(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]map[string]validation.Code{
		`"automatic":true,"code":"TEN"`:                                                        nil,
		`"automatic":true,"withoutCode":true`:                                                  nil,
		`"automatic":true,"distribution":"USER_SPECIFIC","allowedUserEmails":["a@b.com"]`:      nil,
		`"automatic":false`:                                                                    {"code": "required"},
		`"automatic":null`:                                                                     {"code": "required"},
		`"automatic":"yes"`:                                                                    {"automatic": "malformed"},
		`"automatic":true,"distribution":"POINTS_REDEEMABLE","pointsRequired":5`:               {"automatic": "not_allowed"},
		`"automatic":true,"code":"TEN","withoutCode":true`:                                     {"withoutCode": "not_allowed"},
		`"code":"TEN","automatic":true,"distribution":"POINTS_REDEEMABLE","maxUses":0`:         {"automatic": "not_allowed", "pointsRequired": "required", "maxUses": "too_small"},
		`"code":"TEN","automatic":false,"distribution":"POINTS_REDEEMABLE","pointsRequired":5`: nil,
	} {
		_, err := newFromJSON(`{` + members + `,"name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`)
		if want == nil {
			require.NoError(t, err, members)
			continue
		}
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", members, diff)
		}
	}
}

// Contract section 4.6: an omitted limit per customer is 1, but none for an automatic coupon. A later change of
// automatic keeps the limit that is stored.
func TestTheLimitPerCustomerOfAnAutomaticCoupon(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]int64{
		`"code":"TEN"`:                                           1,
		`"withoutCode":true`:                                     1,
		`"code":"TEN","automatic":false`:                         1,
		`"code":"TEN","maxUsesPerUser":null`:                     0,
		`"automatic":true`:                                       0,
		`"automatic":true,"code":"TEN"`:                          0,
		`"automatic":true,"maxUsesPerUser":null`:                 0,
		`"automatic":true,"maxUsesPerUser":2`:                    2,
		`"automatic":true,"maxUsesPerUser":1,"withoutCode":true`: 1,
	} {
		c, err := newFromJSON(`{` + members + `,"name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`)
		require.NoError(t, err, members)
		require.Equal(t, want, c.Limits.MaxUsesPerUser, members)
		switched, err := c.Apply(coupon.Patch{Automatic: coupon.Set(!c.Automatic)}, coupon.Edit{At: noon})
		require.NoError(t, err, members)
		require.Equal(t, want, switched.Limits.MaxUsesPerUser, members)
	}
}

func TestACouponBecomesAutomatic(t *testing.T) {
	t.Parallel()
	c, err := newFromJSON(`{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`)
	require.NoError(t, err)
	on, err := c.Apply(coupon.Patch{Automatic: coupon.Set(true)}, coupon.Edit{At: time.Unix(1, 0)})
	require.NoError(t, err)
	require.True(t, on.Automatic)
	require.False(t, on.Terms.Equal(c.Terms))
	off, err := on.Apply(coupon.Patch{Automatic: coupon.Clear[bool]()}, coupon.Edit{At: time.Unix(2, 0)})
	require.NoError(t, err)
	require.False(t, off.Automatic)
}
