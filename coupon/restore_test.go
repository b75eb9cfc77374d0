package coupon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func TestRefundTermsInJSON(t *testing.T) {
	t.Parallel()
	const start = `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",`
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(start+`"refundPolicy":"rebill","restoreOnRefund":"always"}`), &d))
	c := mustNew(t, d)
	for name, v := range map[string]any{"draft": d, "coupon": c, "snapshot": c.Snapshot()} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Contains(t, string(data), `"refundPolicy":"rebill"`, name)
		require.Contains(t, string(data), `"restoreOnRefund":"always"`, name)
	}
	for name, v := range map[string]any{"draft": ten(), "coupon": mustNew(t, ten()), "snapshot": mustNew(t, ten()).Snapshot()} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, name != "draft", strings.Contains(string(data), `"refundPolicy":"keep"`), name)
		require.NotContains(t, string(data), "restoreOnRefund", name)
	}
	want := map[string]validation.Code{"refundPolicy": "unknown", "restoreOnRefund": "unknown"}
	_, err := newFromJSON(start + `"refundPolicy":"burn","restoreOnRefund":"FULL"}`)
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.RefundPolicy, c.RestoreOnRefund = 3, 3
	if diff := cmp.Diff(want, fieldCodes(t, c.Validate())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Creation replaces an unset policy by the usual one of the discount. JSON always has the policy, and
// a coupon, terms and a snapshot without it are refused.
func TestRefundPolicyOfANewCoupon(t *testing.T) {
	t.Parallel()
	for _, discount := range []string{
		`"discountType":"PERCENTAGE","discountValue":"10"`,
		`"discountType":"FIXED_AMOUNT","discountValue":"10"`,
		`"discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"1"`,
		`"discountType":"FIXED_UNIT_PRICE","discountValue":"1"`,
		`"discountType":"CHEAPEST_UNITS","discountValue":"100","units":1`,
		`"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1`,
		`"discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":"2","percent":"10"}]`,
	} {
		usual := pricing.Keep
		if strings.Contains(discount, "BUY_X_GET_Y") {
			usual = pricing.Rebill
		}
		for member, want := range map[string]pricing.RefundPolicy{
			"": usual, `,"refundPolicy":null`: usual, `,"refundPolicy":"keep"`: pricing.Keep, `,"refundPolicy":"rebill"`: pricing.Rebill,
		} {
			c, err := newFromJSON(`{"code":"ANY","name":"Any",` + discount + member + `}`)
			require.NoError(t, err, "%s%s", discount, member)
			require.Equal(t, want, c.RefundPolicy, "%s%s", discount, member)
			for name, v := range map[string]struct{ written, read any }{
				"coupon": {c, new(coupon.Coupon)}, "terms": {c.Terms, new(coupon.Terms)}, "snapshot": {c.Snapshot(), new(coupon.Snapshot)},
			} {
				data, err := json.Marshal(v.written)
				require.NoError(t, err)
				has := `"refundPolicy":"` + want.String() + `",`
				require.Contains(t, string(data), has, name)
				err = json.Unmarshal([]byte(strings.Replace(string(data), has, "", 1)), v.read)
				if diff := cmp.Diff(map[string]validation.Code{"refundPolicy": "required"}, fieldCodes(t, err)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
	}
	c := mustNew(t, ten())
	c.RefundPolicy = 0
	if diff := cmp.Diff(map[string]validation.Code{"refundPolicy": "required"}, fieldCodes(t, c.Validate())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The refund policy is a term of the discount and never changes. RestoreOnRefund can be changed.
func TestRefundTermsInAPatch(t *testing.T) {
	t.Parallel()
	d := ten()
	d.RefundPolicy, d.RestoreOnRefund = pricing.Rebill, coupon.RestoreNever
	c := mustNew(t, d)
	for text, want := range map[string]coupon.Restore{
		`{}`: coupon.RestoreNever,
		`{"refundPolicy":"rebill","restoreOnRefund":"always"}`: coupon.RestoreAlways,
		`{"restoreOnRefund":null}`:                             coupon.RestoreFull,
	} {
		var p coupon.Patch
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		changed, err := c.Apply(p, coupon.Edit{At: noon})
		require.NoError(t, err)
		require.Equal(t, want, changed.RestoreOnRefund, text)
		require.Equal(t, pricing.Rebill, changed.RefundPolicy)
		again, err := json.Marshal(p)
		require.NoError(t, err)
		require.JSONEq(t, text, string(again))
	}
	for _, text := range []string{`{"refundPolicy":"keep"}`, `{"refundPolicy":null}`} {
		var p coupon.Patch
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		_, err := c.Apply(p, coupon.Edit{At: noon})
		if diff := cmp.Diff(map[string]validation.Code{"refundPolicy": "immutable"}, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestRestoreNames(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]coupon.Restore{"full": coupon.RestoreFull, "always": coupon.RestoreAlways, "never": coupon.RestoreNever} {
		text, err := r.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
		require.Equal(t, "coupon.Restore("+name+")", r.GoString())
		var read coupon.Restore
		require.NoError(t, read.UnmarshalText(text))
		require.Equal(t, r, read)
	}
	require.Empty(t, coupon.Restore(3).String())
}
