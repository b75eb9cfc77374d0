// Package pricing prices a cart with one discount, exact to the minor unit.
//
// # Idea
//
// A [Cart] is a list of lines in one [Currency]. A [Discount] (a [Percent] of
// the eligible lines, or a fixed amount) lowers the lines that a caller names
// as eligible, never a shipping line. The result is a [Quote]: what each line
// costs, what each unit of it costs, and totals that are the sums of the lines
// by construction.
//
// # Representation
//
// Amounts are int64 minor units (cents, yen, fils) of the cart's currency; the
// exponent comes from ISO 4217. [Money] pairs an amount with its currency for
// use at the edges, where it converts exactly from and to [decimal.Decimal] and
// text. There is no floating point in this package.
//
// # Rounding
//
// Exactly one rounding takes place: a percentage discount is computed from the
// eligible subtotal and rounded half-up at the currency's exponent. Spreading
// it over lines is exact-integer largest remainder: every line is within one
// minor unit of its exact share, the shares sum to the discount, ties go to the
// earlier line, and a line of total 0 gets 0. Inside a line at most two unit
// prices occur, one minor unit apart.
//
// # Errors
//
// Malformed input (a negative price, a quantity of 0, an amount with too many
// decimals, an overflow) is a [*ValidationError] that lists every offending
// field by its path, and matches [ErrInvalid]. Nothing wraps, nothing panics.
//
// Everything here is a pure function of its arguments: no clock, no I/O, no
// shared state. It implements section 4.5 and 4.6 of the specification.
package pricing
