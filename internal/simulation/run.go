package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FaultError is a life that ended with something that must not be.
type FaultError struct {
	Seed      uint64    // leads to it again
	Invariant Invariant // does not hold
	Fault     string    // tells how
	Trace     []string  // is what happened, without any step that could be left out
	Steps     int       // of the trace
}

// Error shows seed, fault and trace.
func (f *FaultError) Error() string {
	return fmt.Sprintf("seed %d: %s: %s\n%s", f.Seed, f.Invariant, f.Fault, strings.Join(f.Trace, "\n"))
}

// Life is what a life was like.
type Life struct {
	Coverage     Coverage
	Trace, Final []string // what happened, and what is left, when a trace was asked for
}

// Run lives one life and returns a [*FaultError], or nil when all was well.
func Run(c Config) (Life, error) {
	steps := make([]int, cmp.Or(c.Steps, defaultSteps))
	for i := range steps {
		steps[i] = i
	}
	w := live(c, steps)
	life := Life{w.coverage, w.trace, w.final}
	if w.fault == nil {
		return life, nil
	}
	if !c.KeepTrace {
		steps = shorten(c, steps, w.fault.Invariant)
	}
	c.Trace = true
	w = live(c, steps)
	w.must(NoSurprise, w.fault != nil, "the life does not fail again")
	w.fault.Seed, w.fault.Trace, w.fault.Steps = c.Seed, w.trace, len(steps)
	return life, w.fault
}

// live runs the given steps in a new world.
func live(c Config, steps []int) (w *world) {
	w = newWorld(c)
	defer func() {
		r := recover()
		w.must(NoSurprise, r == nil, "panic: %v", r)
		for _, n := range w.nodes { // close every coroutine and file
			w.bury(n)
		}
		if w.database != nil {
			w.sound("close the database", w.database.Close())
		}
	}()
	for i := 0; i < len(steps) && w.fault == nil; i++ {
		w.step(steps[i])
	}
	if w.fault == nil {
		w.rest()
	}
	if w.fault == nil && w.tracing {
		w.final = w.finals()
	}
	return w
}

// shorten removes steps while the run still breaks the same invariant, until every step is needed.
func shorten(c Config, steps []int, broken Invariant) []int {
	c.Trace = false
	for stretch, before := max(len(steps)/2, 1), -1; len(steps) != before; stretch = max(stretch/2, 1) {
		if stretch == 1 {
			before = len(steps)
		}
		for at := 0; at+stretch <= len(steps); {
			fewer := slices.Concat(steps[:at], steps[at+stretch:])
			if w := live(c, fewer); w.fault != nil && w.fault.Invariant == broken {
				steps = fewer
			} else {
				at += stretch
			}
		}
	}
	return steps
}

// Coverage counts what has happened, by kind, by what, and by how.
type Coverage map[[3]string]int

func (c Coverage) count(kind, what, how string) { c[[3]string{kind, what, how}]++ }

// when adds to the coverage if the event happened.
func (w *world) when(happened bool, kind, what, how string) {
	if happened {
		w.coverage.count(kind, what, how)
	}
}

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
