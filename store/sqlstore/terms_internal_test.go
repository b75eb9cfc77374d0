package sqlstore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// TestTermsAreThoseOfTheText: what is remembered of the order before is neither read for
// another text, nor changed by whom it was given to, nor lost by a text that is none.
func TestTermsAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	var remembered terms
	texts, snapshots := make([]string, 2), make([]coupon.Snapshot, 2)
	for i, name := range []string{"spring", "summer"} {
		code, err := coupon.ParseCode(name)
		require.NoError(t, err)
		snapshots[i] = coupon.Snapshot{
			ID: coupon.IDPrefix + name, Code: code, Name: name, DiscountType: pricing.Percentage, DiscountValue: "5",
			Currency: pricing.EUR(), AppliesTo: coupon.Specific, PlanIDs: coupon.NewItems("basic", name), Distribution: coupon.General,
		}
		text, err := json.Marshal(snapshots[i])
		require.NoError(t, err)
		texts[i] = string(text)
	}
	for _, i := range []int{0, 0, 1, 1, 0} {
		read, err := remembered.read(texts[i])
		require.NoError(t, err)
		if diff := cmp.Diff(snapshots[i], *read); diff != "" {
			t.Errorf("terms of %s (-want +got):\n%s", snapshots[i].Name, diff)
		}
		*read = coupon.Snapshot{Name: "changed by the host"}
		_, err = remembered.read("{")
		require.Error(t, err)
	}
}
