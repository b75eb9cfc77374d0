package processor

import (
	"strconv"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// MetadataOfCoupons returns the metadata of a session about the coupons of its order. The ID of the
// first coupon has the key "couponId", and the code has the key "couponCode". The IDs of further
// coupons have the keys "couponId2", "couponId3" and so on, because processors limit the length of
// a value. Without a coupon, MetadataOfCoupons returns nil.
func MetadataOfCoupons(coupons []coupon.Snapshot) map[string]string {
	if len(coupons) == 0 {
		return nil
	}
	m := map[string]string{MetadataCouponCode: coupons[0].Code.String()}
	for i := range coupons {
		m[couponKey(i)] = coupons[i].ID
	}
	return m
}

// CouponIDs returns the IDs of the coupons in the metadata of a session, in the order of
// [MetadataOfCoupons]. CouponIDs leaves out repeated IDs, and further keys that are not numbered
// without a gap.
func CouponIDs(metadata map[string]string) []string {
	var ids []string
	known := make(map[string]bool)
	for i := range pricing.MaxCoupons {
		id := metadata[couponKey(i)]
		if id == "" {
			break
		}
		if !known[id] {
			ids = append(ids, id)
		}
		known[id] = true
	}
	return ids
}

// couponKey is the key of the coupon at a position.
func couponKey(i int) string {
	if i == 0 {
		return MetadataCouponID
	}
	return MetadataCouponID + strconv.Itoa(i+1)
}
