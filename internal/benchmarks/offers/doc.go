// Package offers compares ways to find the best of many coupons for a cart: the index of package
// eligibility/offers, and a loop that decides about every coupon.
//
// The items of coupons and carts follow Zipf's law over 10,000 items. A coupon is for 1 to 20 items, or for
// much of the shop (10 %). All types of discounts and usual conditions occur.
//
//	go test ./offers                      # the same answers?
//	go test -run '^$' -bench . ./offers   # at what price?
package offers
