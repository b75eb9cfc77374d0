package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Coverage counts what has happened, by kind, by what, and by how.
type Coverage map[string]map[[2]string]int

func (c Coverage) count(kind, what, how string) {
	of := c[kind]
	if of == nil {
		of = make(map[[2]string]int)
		c[kind] = of
	}
	of[[2]string{what, how}]++
}

// Add sums up.
func (c Coverage) Add(d Coverage) {
	for kind, of := range d {
		for what, n := range of {
			if c[kind] == nil {
				c[kind] = make(map[[2]string]int)
			}
			c[kind][what] += n
		}
	}
}

// Of returns how often something has happened. An empty how is every one.
func (c Coverage) Of(kind, what, how string) int {
	if how != "" {
		return c[kind][[2]string{what, how}]
	}
	sum := 0
	for at, n := range c[kind] {
		if at[0] == what {
			sum += n
		}
	}
	return sum
}

// String is a table of everything that has happened.
func (c Coverage) String() string {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		rows := slices.SortedFunc(maps.Keys(c[kind]), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) })
		for _, row := range rows {
			fmt.Fprintf(&b, "%-12s %-26s %-44s %9d\n", kind, row[0], row[1], c[kind][row])
		}
	}
	return b.String()
}
