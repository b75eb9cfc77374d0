// Package pricing prices a cart with one discount, exact to the minor unit.
//
// A [Cart] is a list of lines in one [Currency]. A [Discount] is a percentage or a
// fixed amount. [Price] takes the discount off the lines that the caller marks as
// eligible. It returns a [Quote]: totals, and the price of each line and unit.
//
//	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
//		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000},
//	}}
//	quote, err := pricing.Price(cart, discount, nil) // nil: every line is eligible
//
// Package eligibility decides which lines are eligible. Shipping is never discounted.
//
// # Amounts
//
// Amounts are int64 minor units of the cart's currency: cents, yen, fils. The number of
// decimals comes from ISO 4217. [Money] pairs an amount with its currency. It converts
// from and to [decimal.Decimal] and text without loss. The package uses no floating
// point.
//
// A [Number] is a decimal from outside, with its digits as received. Amounts may have
// as many decimals as the currency. Percentages may have four decimals. More decimals
// are an error.
//
// [Cart], [Quote] and [Discount] have JSON forms with decimal amounts. Unmarshaling
// restores the exact value. A [Line] or [Money] alone cannot be unmarshaled, because the
// currency is missing.
//
// # Rounding
//
// A percentage of the eligible subtotal is rounded half up, once. The discount is then
// spread over the eligible lines by largest remainder:
//
//   - the line discounts sum to the discount
//   - each line is less than one minor unit from its exact share
//   - a tie goes to the earlier line
//   - a line of price 0 gets 0
//
// Units of one line have at most two prices, one minor unit apart.
//
// With [Cart].Step the same rules count in steps instead of minor units. Every amount
// of the quote is then a multiple of the step. A price off the step is an error.
//
// A greater discount never raises the total of the cart. The total of a single line may
// rise by one minor unit. Base refunds on the recorded line totals.
//
// # Errors
//
// Malformed input is a [*ValidationError] that lists every faulty field by its path. It
// matches [ErrInvalid]. An overflow is an error, too. The package never panics on
// input.
//
// # Limits
//
// A cart has at most [MaxLines] lines. Line IDs have at most [MaxLineIDLength] code
// points. The sum of the lines must fit into an int64. Time and memory grow linearly
// with the number of lines.
//
// # Concurrency
//
// All functions are pure. Values may be read concurrently. [Quote.Reprice] and the
// Unmarshal methods change their receiver, which nobody may read meanwhile.
//
// Package pricingtest generates carts and checks quotes in the tests of callers.
package pricing
