// Package pricing prices a cart with one discount, exact to the minor unit.
//
// # Idea
//
// A [Cart] is a list of lines in one [Currency]. A [Discount] (a [Percent] of
// the eligible lines, or a fixed amount) lowers the lines that a caller names
// as eligible, never a shipping line. [Price] makes of them a [Quote]: what each
// line costs, what each unit of it costs, and totals that are the sums of the
// lines by construction. [Quote.Reprice] does the same without allocating.
//
// Which coupon a customer may use, and which lines it covers, is not decided
// here: this package knows no coupon.
//
// # Representation
//
// Amounts are int64 minor units (cents, yen, fils) of the cart's currency; the
// exponent comes from ISO 4217. [Money] pairs an amount with its currency for
// use at the edges, where it converts exactly from and to [decimal.Decimal] and
// text. There is no floating point in this package.
//
// Decimals from outside are read as [Number]: a JSON string or number whose
// digits are kept as they came, of bounded length and exponent. Amounts carry at
// most the currency's decimals and percentages at most four; more is an error,
// never rounded away.
//
// In JSON a [Cart], a [Quote] and a [Discount] have decimal amounts, and read back what they
// write, exactly. What does not know its currency has no such form: a [Line] by itself
// refuses both ways, and [Money], which is written without its currency, refuses to be
// read.
//
// # Rounding
//
// Exactly one rounding takes place: a percentage discount is computed from the
// eligible subtotal and rounded half-up at the currency's exponent. Spreading
// it over lines is exact-integer largest remainder with 128-bit products: every
// line is within one minor unit of its exact share, the shares sum to the
// discount, ties go to the earlier line, and a line of total 0 gets 0. Inside a
// line at most two unit prices occur, one minor unit apart.
//
// Where a processor charges only in steps of an amount ([Cart].Step: ten fils of a
// dinar), all of this is counted in steps: prices are multiples of the step, the
// discount is rounded half-up to a whole step once, every line is within one step
// of its exact share, and the two unit prices of a line are one step apart. So no
// amount of a quote is off the step. A price or a fixed amount off the step is an
// error that names it: it could not be charged as it stands, and charging another
// price than the catalogue's is not for this package to decide.
//
// Largest remainder is not monotone per line: a greater discount never makes the
// cart dearer, but it may make a single line one minor unit dearer. A refund
// therefore uses the recorded line totals, never a second computation.
//
// # Errors
//
// Malformed input (a negative price, a quantity of 0, an amount with too many
// decimals, an overflow) is a [*ValidationError] that lists every offending
// field by its path, and matches [ErrInvalid]. Nothing wraps, nothing panics. A
// quote that was stored is checked again when it is loaded.
//
// # Bounds
//
// A cart has at most [MaxLines] lines with IDs of at most [MaxLineIDLength]
// characters, and its lines sum to less than 2^63 minor units. Time and memory are linear in the number of lines.
//
// Everything here is a pure function of its arguments: no clock, no I/O, no
// shared state. Values may be read from many goroutines; the methods that change
// their receiver ([Quote.Reprice] and the Unmarshal methods) must run alone. The
// package implements sections 4.5 and 4.6 of the specification. Its companion
// pricingtest generates carts for property tests and judges quotes.
package pricing
