package main

import (
	"fmt"
	"strings"
)

// goal compares two cells of a run.
type goal struct {
	what      string
	value     value
	bound     float64
	atMost    bool // else at least
	precision int
}

// value is known where the cells have been measured.
type value func(results) (float64, bool)

// rate is how many times the rate of the second cell the first has.
func rate(a, b cell) value { return compare(a, b, perSecond) }

func compare(a, b cell, of func(sample) float64) value {
	return func(r results) (float64, bool) { return r.ratio(a, b, of) }
}

// least is the smallest of several values: the rate against the fastest.
func least(all ...value) value {
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

// goals are those of the repository. Each compares cells of one part, which take
// turns.
func goals() []goal {
	hot := func(way string, clients int) cell { return planned("hot", way, clients) }
	var all []goal
	ratio := func(what string, bound float64, v value) {
		all = append(all, goal{what: what, value: v, bound: bound, precision: 2})
	}
	below := func(what string, bound float64, v value) {
		all = append(all, goal{what: what, value: v, bound: bound, atMost: true, precision: 3})
	}
	for _, g := range []struct {
		clients int
		times   float64
	}{{2, 2}, {8, 5}, {64, 35}, {256, 60}} {
		ratio(fmt.Sprintf("one coupon, %d clients: times the textbook", g.clients), g.times,
			rate(hot("batched", g.clients), hot("textbook", g.clients)))
	}
	below("one coupon, 1 client: latency against the conditional UPDATE", 1.2, compare(hot("batched", 1), hot("conditional", 1), p50))
	for _, n := range []int{64, 256} {
		ratio(fmt.Sprintf("one coupon, %d clients: of the unchecked batches", n), 0.65, rate(hot("batched", n), hot("ceiling", n)))
		ratio(fmt.Sprintf("one coupon, %d clients: of Redis, appendfsync always", n), 0.8, rate(hot("batched", n), hot("redis", n)))
		ratio(fmt.Sprintf("one coupon, %d clients: of Redis, pipelined", n), 0.8, rate(hot("batched", n), hot("redis-pipelined", n)))
		below(fmt.Sprintf("one coupon, %d clients: p99 of the textbook's", n), 0.05, compare(hot("batched", n), hot("textbook", n), p99))
	}
	for _, n := range []int{2, 8, 64} {
		many := func(way string) cell { return planned("many", way, n) }
		ratio(fmt.Sprintf("10,000 coupons, %d clients: of the fastest alternative", n), 1, least(
			rate(many("batched"), many("textbook")), rate(many("batched"), many("serializable")),
			rate(many("batched"), many("conditional")), rate(many("batched"), many("slots"))))
	}
	ratio("10,000 coupons, 64 clients: times the textbook", 5, rate(planned("many", "batched", 64), planned("many", "textbook", 64)))
	ratio("slow disk, 64 clients: times the textbook", 60, rate(planned("slow", "batched", 64), planned("slow", "textbook", 64)))
	ratio("slow disk, 256 clients: times the textbook", 180, rate(planned("slow", "batched", 256), planned("slow", "textbook", 256)))
	for _, n := range []int{64, 256} {
		ratio(fmt.Sprintf("four processes, %d clients: of one process", n), 0.5,
			rate(planned("processes", "batched, 4 processes", n), planned("processes", "batched, one process", n)))
		ratio(fmt.Sprintf("filled from empty, %d clients: of a seeded database", n), 0.55,
			rate(planned("empty", "batched, empty", n), planned("empty", "batched, seeded", n)))
	}
	return all
}

// goalTable says of each goal whether the results have met it.
func (r results) goalTable() string {
	var b strings.Builder
	for _, g := range goals() {
		v, known := g.value(r)
		if !known {
			continue
		}
		bound, met := "at least", v >= g.bound
		if g.atMost {
			bound, met = "at most", v <= g.bound
		}
		verdict := "missed"
		if met {
			verdict = "met"
		}
		fmt.Fprintf(&b, "| %s | %s %g | %.*f | %s |\n", g.what, bound, g.bound, g.precision, v, verdict)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Measured is the median of the rounds' ratios:\n\n| goal | bound | measured | |\n|---|---|---:|---|\n" + b.String()
}
