package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// goal compares two cells of a run.
type goal struct {
	what      string
	value     func(results) (float64, bool)
	least     float64
	atMost    bool // least is a bound from above
	precision int
}

// results finds cells.
type results []cell

func (r results) find(part, way string, clients int) (cell, bool) {
	for _, c := range r {
		if c.part == part && c.way == way && c.clients == clients {
			return c, true
		}
	}
	return cell{}, false
}

// side names a cell.
type side struct {
	part, way string
	clients   int
}

// rate is how many times the rate of the second cell the first has.
func rate(a, b side) func(results) (float64, bool) {
	return quotient(a, b, func(c cell) float64 { return c.perSecond })
}

func median(a, b side) func(results) (float64, bool) {
	return quotient(a, b, func(c cell) float64 { return float64(c.p50) / float64(time.Second) })
}

func tail(a, b side) func(results) (float64, bool) {
	return quotient(a, b, func(c cell) float64 { return float64(c.p99) / float64(time.Second) })
}

func quotient(a, b side, of func(cell) float64) func(results) (float64, bool) {
	return func(r results) (float64, bool) {
		x, known := r.find(a.part, a.way, a.clients)
		y, alsoKnown := r.find(b.part, b.way, b.clients)
		return of(x) / of(y), known && alsoKnown
	}
}

// least is the smallest of several quotients: the rate against the fastest.
func least(all ...func(results) (float64, bool)) func(results) (float64, bool) {
	return func(r results) (smallest float64, known bool) {
		for i, value := range all {
			v, ok := value(r)
			if !ok {
				return 0, false
			}
			if i == 0 || v < smallest {
				smallest = v
			}
		}
		return smallest, true
	}
}

// goals are those of the repository.
func goals() []goal {
	hot := func(way string, clients int) side { return side{"hot", way, clients} }
	var all []goal
	ratio := func(what string, bound float64, value func(results) (float64, bool)) {
		all = append(all, goal{what: what, value: value, least: bound, precision: 2})
	}
	below := func(what string, bound float64, value func(results) (float64, bool)) {
		all = append(all, goal{what: what, value: value, least: bound, atMost: true, precision: 3})
	}
	for _, g := range []struct {
		clients int
		times   float64
	}{{2, 2}, {8, 5}, {64, 35}, {256, 60}} {
		ratio(fmt.Sprintf("one coupon, %d clients: times the textbook", g.clients), g.times,
			rate(hot("batched", g.clients), hot("textbook", g.clients)))
	}
	below("one coupon, 1 client: latency against the conditional UPDATE", 1.2, median(hot("batched", 1), hot("conditional", 1)))
	for _, n := range []int{64, 256} {
		ratio(fmt.Sprintf("one coupon, %d clients: of the unchecked batches", n), 0.65, rate(hot("batched", n), hot("ceiling", n)))
		ratio(fmt.Sprintf("one coupon, %d clients: of Redis, appendfsync always", n), 0.8, rate(hot("batched", n), hot("redis", n)))
		ratio(fmt.Sprintf("one coupon, %d clients: of Redis, pipelined", n), 0.8, rate(hot("batched", n), hot("redis-pipelined", n)))
		below(fmt.Sprintf("one coupon, %d clients: p99 of the textbook's", n), 0.05, tail(hot("batched", n), hot("textbook", n)))
	}
	for _, n := range []int{2, 8, 64} {
		many := func(way string) side { return side{"many", way, n} }
		ratio(fmt.Sprintf("10,000 coupons, %d clients: of the fastest alternative", n), 1, least(
			rate(many("batched"), many("textbook")), rate(many("batched"), many("serializable")),
			rate(many("batched"), many("conditional")), rate(many("batched"), many("slots"))))
	}
	ratio("10,000 coupons, 64 clients: times the textbook", 5, rate(side{"many", "batched", 64}, side{"many", "textbook", 64}))
	ratio("slow disk, 64 clients: times the textbook", 60, rate(side{"slow", "batched", 64}, side{"slow", "textbook", 64}))
	ratio("slow disk, 256 clients: times the textbook", 180, rate(side{"slow", "batched", 256}, side{"slow", "textbook", 256}))
	for _, n := range []int{64, 256} {
		ratio(fmt.Sprintf("four processes, %d clients: of one process", n), 0.5, rate(side{"processes", "batched", n}, hot("batched", n)))
		ratio(fmt.Sprintf("filled from empty, %d clients: of a seeded database", n), 0.55, rate(side{"empty", "batched", n}, hot("batched", n)))
	}
	return all
}

// writeGoals says of each goal whether the run has met it.
func writeGoals(out io.Writer, cells []cell) {
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "goal\twanted\tmeasured\t")
	for _, g := range goals() {
		value, known := g.value(cells)
		if !known {
			continue
		}
		sign, met := "at least", value >= g.least
		if g.atMost {
			sign, met = "at most", value <= g.least
		}
		verdict := "missed"
		if met {
			verdict = "met"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s %g\t%.*f\t%s\n", g.what, sign, g.least, g.precision, value, verdict)
	}
	_ = table.Flush() // to the terminal
}
