package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// goal bounds a figure, or the ratio of two.
type goal struct {
	about string
	of    record.Cell
	// to is what the figure is divided by; nil is nothing.
	to *record.Cell
	// factor is what the ratio is multiplied by, unless 0.
	factor float64
	bound  bound
}

type bound struct {
	least bool
	limit float64
}

func atMost(limit float64) bound  { return bound{limit: limit} }
func atLeast(limit float64) bound { return bound{limit: limit, least: true} }

func (b bound) met(value float64) bool {
	if b.least {
		return value >= b.limit
	}
	return value <= b.limit
}

func (b bound) String() string {
	if b.least {
		return fmt.Sprintf("at least %g", b.limit)
	}
	return fmt.Sprintf("at most %g", b.limit)
}

func (g goal) measured(results record.Results) (float64, error) {
	of, err := results.Figure(g.of)
	if err != nil || g.to == nil {
		return of.Median, err
	}
	to, err := results.Figure(*g.to)
	if err != nil {
		return 0, err
	}
	ratio := of.Median / to.Median
	if g.factor != 0 {
		ratio *= g.factor
	}
	return ratio, nil
}

// judge prints each goal with what was measured and returns how many are missed. A
// figure that is not recorded is an error.
func judge(results record.Results, goals []goal, out io.Writer) (missed int, err error) {
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	for _, g := range goals {
		value, err := g.measured(results)
		if err != nil {
			return missed, err
		}
		verdict := "met"
		if !g.bound.met(value) {
			verdict = "MISSED"
			missed++
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%.3g\t%s\n", g.about, g.bound, value, verdict)
	}
	return missed, table.Flush()
}

func quoteGoals() []goal {
	var goals []goal
	for _, discount := range []string{"percentage", "fixed"} {
		about := func(text string) string { return discount + ", " + text }
		cell := record.Cell{Name: "Quote", Unit: "ns/op"}.With("discount", discount)
		ten := cell.With("lines", "10")
		ours, thousand := ten.With("way", "couponkit"), cell.With("lines", "1000").With("way", "couponkit")
		floor := ten.With("way", "floor")
		for _, lines := range []string{"1", "10", "100", "1000"} {
			allocations := ours.With("lines", lines)
			allocations.Unit = "allocs/op"
			goals = append(goals, goal{about: about("allocations of " + lines + " lines into a reused result"), of: allocations, bound: atMost(0)})
		}
		goals = append(goals,
			goal{about: about("10 lines, times the unchecked floor"), of: ours, to: &floor, bound: atMost(3)},
			goal{about: about("10 lines, shopspring/decimal takes times as long"), of: ten.With("way", "shopspring"), to: &ours, bound: atLeast(12)},
			goal{about: about("10 lines, go-money takes times as long"), of: ten.With("way", "go-money"), to: &ours, bound: atLeast(2)},
			goal{about: about("a line of 1000, times a line of 10 (linear)"), of: thousand, to: &ours, factor: 10.0 / 1000, bound: atMost(1.5)},
		)
	}
	return goals
}

func validityGoals() []goal {
	var goals []goal
	for _, lines := range []string{"10", "0"} {
		about := func(text string) string {
			if lines == "0" {
				return "before a cart, " + text
			}
			return "cart of 10 lines, " + text
		}
		cell := record.Cell{Name: "Decide", Unit: "ns/op"}.With("lines", lines).With("answer", "yes").With("addresses", "1")
		ours := cell.With("way", "couponkit")
		allocations := ours
		allocations.Unit = "allocs/op"
		goals = append(goals,
			goal{about: about("allocations"), of: allocations, bound: atMost(0)},
			goal{about: about("100,000 addresses, times 1 address"), of: ours.With("addresses", "100000"), to: &ours, bound: atMost(1.5)},
		)
		if lines == "0" {
			continue // the goal was set for a cart; the table has the figures without one
		}
		goals = append(goals,
			goal{about: about("cel-go takes times as long"), of: cell.With("way", "cel-go"), to: &ours, bound: atLeast(12)},
			goal{about: about("expr takes times as long"), of: cell.With("way", "expr"), to: &ours, bound: atLeast(12)},
		)
	}
	list := record.Cell{Name: "AllowList", Unit: "ns/op"}.With("way", "couponkit").With("asked", "last").With("addresses", "1")
	return append(goals, goal{about: "look-up alone, 100,000 addresses, times 1 address", of: list.With("addresses", "100000"), to: &list, bound: atMost(1.5)})
}
