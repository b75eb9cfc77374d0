package processor_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// The metadata of a session names each coupon under a key of its own, and is read back.
func TestTheMetadataNamesEachCoupon(t *testing.T) {
	t.Parallel()
	code, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	var coupons []coupon.Snapshot
	var want []string
	for n := range pricing.MaxCoupons {
		got := processor.MetadataOfCoupons(coupons)
		require.Equal(t, want, processor.CouponIDs(got))
		if n > 0 {
			require.Len(t, got, n+1)
			require.Equal(t, "TEN", got[processor.MetadataCouponCode])
		}
		id := fmt.Sprintf("cpn_%02d", n)
		coupons, want = append(coupons, coupon.Snapshot{ID: id, Code: code}), append(want, id)
	}
	require.Equal(t, want, processor.CouponIDs(processor.MetadataOfCoupons(coupons)))
}

func TestCouponIDsOfForeignMetadata(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for n := range 40 {
		many["couponId"+fmt.Sprint(n)] = fmt.Sprint(n)
	}
	many["couponId"] = "first"
	for about, c := range map[string]struct {
		metadata map[string]string
		want     []string
	}{
		"none":           {nil, nil},
		"empty":          {map[string]string{"couponId": ""}, nil},
		"no first":       {map[string]string{"couponId2": "b"}, nil},
		"a gap":          {map[string]string{"couponId": "a", "couponId3": "c"}, []string{"a"}},
		"the same twice": {map[string]string{"couponId": "a", "couponId2": "a", "couponId3": "c"}, []string{"a", "c"}},
	} {
		if diff := cmp.Diff(c.want, processor.CouponIDs(c.metadata)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	require.Len(t, processor.CouponIDs(many), pricing.MaxCoupons)
}
