// Package coupontest helps a host to test its own code around coupons: it makes coupons, drafts, patches, scopes,
// customers and usage figures for property tests with [pgregory.net/rapid], the awkward ones first, and texts that
// break software which does not expect them.
//
// A property of a host reads:
//
//	func TestOurTableKeepsCoupons(t *testing.T) {
//		rapid.Check(t, func(t *rapid.T) {
//			want := coupontest.Coupon().Draw(t, "coupon")
//			got := load(save(want))
//			if diff := cmp.Diff(want, got); diff != "" {
//				t.Errorf("a saved coupon comes back changed (-want +got):\n%s", diff)
//			}
//		})
//	}
//
// # What is promised
//
// [Coupon] draws only coupons that [coupon.Coupon.Validate] accepts, [Draft] only drafts that [coupon.New] accepts,
// [Patch] only patches that [coupon.Coupon.Apply] accepts for that coupon, [Spelling] only texts of that code.
// [Hostile] promises nothing at all.
//
// Item IDs come from the small vocabulary of package pricingtest ("plan-1" to "plan-5" and so on), so that selections
// have a chance to meet the carts that it draws. The generators hold no state and may be used from many goroutines.
package coupontest
