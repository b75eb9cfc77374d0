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
		require.NotContains(t, string(data), "efund", name)
	}
	want := map[string]validation.Code{"refundPolicy": "unknown", "restoreOnRefund": "unknown"}
	_, err := newFromJSON(start + `"refundPolicy":"burn","restoreOnRefund":"FULL"}`)
	if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.RefundPolicy, c.RestoreOnRefund = 2, 3
	if diff := cmp.Diff(want, fieldCodes(t, c.Validate())); diff != "" {
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
