package processor

import (
	"strconv"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// MaxCouponMetadata is the maximum number of keys that [MetadataOfCoupons] returns.
const MaxCouponMetadata = pricing.MaxCoupons + 1

// MetadataOfCoupons returns the metadata of a session about the coupons of its order. The ID of the
// first coupon has the key "couponId", and its code has the key "couponCode". The IDs and the codes
// of further coupons have the keys "couponId2", "couponCode2" and so on, because processors limit the
// length of a value. A coupon without a code has no key for the code.
//
// Processors limit the number of keys, too: there are at most [MaxCouponMetadata]. Every coupon has
// its ID. More than 16 coupons leave out the codes of the last ones. Without a coupon,
// MetadataOfCoupons returns nil.
func MetadataOfCoupons(coupons []coupon.Snapshot) map[string]string {
	if len(coupons) == 0 {
		return nil
	}
	m := map[string]string{}
	for i := range coupons {
		m[numbered(MetadataCouponID, i)] = coupons[i].ID
	}
	for i := range coupons {
		if code := coupons[i].Code; !code.IsZero() && len(m) < MaxCouponMetadata {
			m[numbered(MetadataCouponCode, i)] = code.String()
		}
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
		id := metadata[numbered(MetadataCouponID, i)]
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

// numbered returns the metadata key of the coupon at a position.
func numbered(key string, i int) string {
	if i == 0 {
		return key
	}
	return key + strconv.Itoa(i+1)
}
