// Package quote prices the same baskets in the ways that a team could choose from:
// this repository's pricing, the bare sums, integers written plainly, and the
// decimal and money libraries that Go programs use.
//
// Every way does the same work: it multiplies prices by quantities, takes one
// discount off their sum, rounded once and half-up, and spreads it over the lines
// by largest remainder, ties to the earlier line, so that each line's discount and
// the total are known. What a way keeps its prices in is prepared before the clock
// starts. The test holds all of them to one answer; what a way cannot answer the
// same it declares as [Loose].
//
//	go test ./quote                      # the same answers?
//	go test -run '^$' -bench . ./quote   # at what price?
package quote
