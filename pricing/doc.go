// Package pricing computes the price of a cart with a set of coupons, exact to the minor unit.
//
// A [Cart] is a list of lines in one [Currency]. [Terms] hold the [Discount] of a coupon and the
// lines that it covers. [Price] takes the discounts off the cart and returns a [Quote]. A Quote
// holds the totals, the price of each line and what each coupon takes. [Quote.Units]
// returns the price of each unit, and [Quote.Allocations] what each coupon takes off it.
//
//	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
//		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000},
//	}}
//	quote, err := pricing.Price(cart, pricing.Terms{Discount: discount}) // on every line
//
// Package eligibility decides which lines are eligible. Shipping lines are never
// discounted.
//
// # Amounts
//
// Amounts are int64 values in minor units of the cart's currency. The minor unit is the
// cent for EUR, the yen for JPY and the fils for KWD. ISO 4217 defines how many decimals
// each currency has. A [Money] value holds an amount and its currency. Money converts to
// and from [decimal.Decimal] and text without loss. The package uses no floating point.
//
// A [Number] holds the text of a decimal number exactly as it was received. An amount may
// have at most as many decimals as its currency. A percentage may have at most four
// decimals. A number with too many decimals is refused with an error.
//
// The JSON forms of [Cart], [Quote] and [Discount] contain decimal amounts, such as
// "12.50". Unmarshaling a Cart, a Quote or a Discount restores the exact value. A [Line] or
// a [Money] cannot be unmarshaled on its own, because its JSON does not contain the
// currency.
//
// # Discounts
//
// There are seven types of discounts; see [DiscountType]. Section 2 of docs/contract.md has the
// arithmetic of each. Discounts are combined in two lanes; see [Lane]. The result does not depend
// on the order of the coupons. A coupon without a group is exclusive; see [Combinable].
//
// # Rounding
//
// A percentage discount is computed from what the eligible units cost and rounded half up. The
// rounded discount is spread over the eligible lines by the largest remainder method:
//
//   - The line discounts sum to the discount of the cart.
//   - Each line discount differs from the line's exact share of the discount by less than
//     one minor unit.
//   - If two lines have equal remainders, the earlier line gets a left-over minor unit
//     first.
//   - A line with the price 0 gets no discount.
//
// With one coupon that covers whole lines, the units of a line have at most two different
// prices. The two prices differ by one minor unit.
//
// A cart may have a step (see [Cart].Step). In a cart with a step, discounts are rounded to
// multiples of the step instead of minor units. Every amount in the quote is a multiple of
// the step. Price returns an error if a unit price is not a multiple of the cart's step.
//
// A larger percentage or amount never raises the total of the cart. It can still raise
// the total of a single line by one minor unit or one step.
//
// # Refunds
//
// [Quote.Refund] computes what a customer gets back for returned units. It reads the stored quote
// and never prices the cart again. See docs/refunds.md.
//
// # Errors
//
// Functions return a [*validation.Error] for malformed input and for sums that do not fit in
// an int64. A validation.Error lists the path of every invalid field. Every validation.Error
// matches [validation.ErrInvalid]. No input makes the package panic.
//
// # Limits
//
// A cart has at most [MaxLines] lines. The ID and the ItemID of a line have at most
// [MaxLineIDLength] code points each. The sum of the line prices must fit in an int64.
// Pricing a cart takes time and memory proportional to its number of lines.
//
// # Concurrency
//
// All functions of this package are pure. Several goroutines may read the same value
// concurrently. [Quote.Reprice] and the Unmarshal methods modify their receiver. While
// Reprice or an Unmarshal method runs, no other goroutine may use its receiver.
//
// # Testing
//
// Package pricingtest generates carts and checks quotes in tests.
package pricing
