// Package replay tells what coupons would have changed in recorded carts.
//
// [Run] reads recorded carts in the order of their instants. It gives each cart the best set of the coupons,
// as automatic coupons would, and compares the total with what the customer has paid. The result is a [Report]:
// money by coupon, carts that win and lose, limits and budgets that ran out, and a histogram.
//
//	report, err := replay.Run(carts, read, slices.Values(coupons), replay.Options{Workers: runtime.GOMAXPROCS(0)})
//
// The search is that of package offers. Every decision and every discount comes from package eligibility.
//
// # Limits
//
// All counters begin at 0. Each cart takes its uses and discounts from limits and budgets before the next
// cart is decided, as if it was paid at once. So the report is exact: it equals that of a loop that decides
// about one cart after another. Nothing is given back.
//
// # Rounds
//
// Run decides in rounds of 2,048 carts. All workers search for the carts of a round, with the counters at its
// beginning. Then one goroutine takes the claims in the order of the carts. A cart whose claims no longer fit is
// decided again, with the counters at its place. Counters only grow, so a set that still fits is still the
// best one. The report is the same for every number of workers.
//
// # Memory
//
// The memory does not depend on the number of carts. It grows with the coupons and their counters: a limit for
// each customer has a counter for each customer who used the coupon, and a condition on first orders has one for
// each customer. [Options].MaxCounters bounds their number.
package replay
