// Package pricing prices a cart with one discount, exact to the minor unit.
//
// A [Cart] is a list of lines in one [Currency]. A [Discount] is a percentage or a
// fixed amount. [Price] takes the discount off the lines that the caller marks as
// eligible. Price returns a [Quote]. A Quote holds the totals and the price of each
// line and unit.
//
//	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
//		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000},
//	}}
//	quote, err := pricing.Price(cart, discount, nil) // nil makes every line eligible
//
// Package eligibility decides which lines are eligible. Shipping lines are never
// discounted.
//
// # Amounts
//
// Amounts are int64 numbers of minor units of the cart's currency. Minor units are, for
// example, cents for EUR, yen for JPY and fils for KWD. ISO 4217 defines the number of
// decimals of each currency. A [Money] value holds an amount and its currency. A Money
// value converts from and to [decimal.Decimal] and text without loss. The package uses
// no floating point.
//
// A [Number] holds a decimal number from the host or from JSON, with its digits as
// received. An amount may have at most as many decimals as its currency. A percentage
// may have at most four decimals. Numbers with more decimals than allowed are refused
// with an error.
//
// The JSON forms of [Cart], [Quote] and [Discount] contain decimal amounts, such as
// "12.50". Unmarshaling a Cart, a Quote or a Discount restores the exact value. A
// single [Line] or [Money] cannot be unmarshaled from JSON, because its currency would
// be missing.
//
// # Rounding
//
// A percentage discount is computed from the eligible subtotal and rounded half up
// once. After rounding, the discount is spread over the eligible lines by the largest
// remainder method:
//
//   - The line discounts sum to the discount of the cart.
//   - Each line discount differs from the line's exact share of the discount by less
//     than one minor unit.
//   - Of two lines with equal remainders, the earlier line is the first to get a
//     left-over minor unit.
//   - A line of price 0 gets no discount.
//
// The units of one line have at most two different prices. If the units of a line have
// two prices, these prices differ by one minor unit.
//
// If the cart has a step ([Cart].Step), all rounding rules count in steps instead of
// minor units. If the cart has a step, every amount in the quote is a multiple of the
// step. Price returns an error if a unit price is not a multiple of the cart's step.
//
// A greater discount never raises the total of the cart. A greater discount may raise
// the total of a single line by one minor unit. Callers should compute refunds from the
// line totals that they have recorded.
//
// # Errors
//
// For malformed input, the functions return a [*ValidationError] that lists the path of
// every invalid field. A ValidationError matches [ErrInvalid]. The functions also
// return an error for an arithmetic overflow. No input makes the package panic.
//
// # Limits
//
// A cart has at most [MaxLines] lines. The ID and the ItemID of a line have at most
// [MaxLineIDLength] code points each. The sum of the line prices must fit into an
// int64. The time and memory for pricing a cart grow linearly with its number of lines.
//
// # Concurrency
//
// All functions of the package are pure. Several goroutines may read the same value
// concurrently. [Quote.Reprice] and the Unmarshal methods change their receiver. While
// Reprice or an Unmarshal method runs, no other goroutine may read the receiver of the
// method.
//
// Callers can use package pricingtest in their tests to generate carts and to check
// quotes.
package pricing
