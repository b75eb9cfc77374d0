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
			require.Len(t, got, min(2*n, processor.MaxCouponMetadata))
			require.Equal(t, "TEN", got[processor.MetadataCouponCode])
		}
		id := fmt.Sprintf("cpn_%02d", n)
		coupons, want = append(coupons, coupon.Snapshot{ID: id, Code: code}), append(want, id)
	}
	require.Equal(t, want, processor.CouponIDs(processor.MetadataOfCoupons(coupons)))
}

// Each code has the number of its coupon's ID, and a coupon without a code has none.
func TestTheMetadataNumbersCodes(t *testing.T) {
	t.Parallel()
	got := processor.MetadataOfCoupons([]coupon.Snapshot{
		{ID: "cpn_a"}, {ID: "cpn_b", Code: coupon.StoredCode("B")}, {ID: "cpn_c"}, {ID: "cpn_d", Code: coupon.StoredCode("D")},
	})
	want := map[string]string{
		"couponId": "cpn_a", "couponId2": "cpn_b", "couponId3": "cpn_c", "couponId4": "cpn_d",
		"couponCode2": "B", "couponCode4": "D",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
