// Package offers finds the best of many coupons for a cart.
//
// An [Index] holds coupons in memory. A [Search] finds the coupon with the greatest discount for a cart, the
// best n coupons, the best set of coupons that can be combined, and the coupons that a customer nearly gets.
//
//	index, err := offers.New(slices.Values(coupons), offers.Limits{})
//	var search offers.Search
//	best, found, err := search.Best(index, offers.Query{Cart: cart, Question: question})
//
// Every decision and every discount comes from package eligibility. The index only leaves out coupons that
// cannot come into the result. It lists each coupon under the items, categories, kinds or customers that it
// is for, by an upper bound of its discount. A search reads the lists of the cart with the greatest bound
// first. It stops when no list has a bound that reaches the result.
//
// # Cost
//
// The time of a search depends on the coupons that could come into the result, not on the coupons that
// exist. A coupon that is used up stays in its lists, and a search asks for its usage again and again. Take
// such a coupon out with [Index.Without].
//
// An update adds a coupon to the lists of its targets. The coupon's old entries stay in the lists until later updates
// take them out, a few lists at a time. So an update that only pauses or removes a coupon takes a small part of the
// time. Lists have at most about a quarter more entries than the coupons. The update that comes to a long list copies
// the list: with a million coupons, the longest takes 0.2 seconds.
//
// # Time
//
// The index has no clock. It answers exactly for every instant in Question.At, also if the instant is
// before that of an earlier search. Coupons that have expired stay in the index. Take them out to save
// memory.
//
// # Concurrency
//
// An Index can be used by many goroutines. A Search belongs to one goroutine at a time.
package offers
