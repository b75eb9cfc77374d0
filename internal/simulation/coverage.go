package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Coverage counts what has happened, by kind, by what, and by how.
type Coverage map[[3]string]int

func (c Coverage) count(kind, what, how string) { c[[3]string{kind, what, how}]++ }

// Add sums up.
func (c Coverage) Add(d Coverage) {
	for what, n := range d {
		c[what] += n
	}
}

// Of returns how often something has happened. An empty how is every one.
func (c Coverage) Of(kind, what, how string) (sum int) {
	if how != "" {
		return c[[3]string{kind, what, how}]
	}
	for of, n := range c {
		if of[0] == kind && of[1] == what {
			sum += n
		}
	}
	return sum
}

// String is a table of everything that has happened.
func (c Coverage) String() string {
	var b strings.Builder
	for _, of := range slices.SortedFunc(maps.Keys(c), func(x, y [3]string) int { return slices.Compare(x[:], y[:]) }) {
		fmt.Fprintf(&b, "%-12s %-26s %-44s %9d\n", of[0], of[1], of[2], c[of])
	}
	return b.String()
}
