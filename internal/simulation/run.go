package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FaultError is a life that ended with something that must not be.
type FaultError struct {
	// Seed leads to it again.
	Seed uint64
	// Fault is what must not be.
	Fault string
	// Trace is the shortest life that was found to end with a fault, or the life as it
	// was if it is not to be shortened.
	Trace []string
}

// Error shows seed, fault and trace.
func (f *FaultError) Error() string {
	return fmt.Sprintf("seed %d: %s\n%s", f.Seed, f.Fault, strings.Join(f.Trace, "\n"))
}

// Stats tell how much has happened in a life.
type Stats struct {
	Coupons     int
	Sessions    int
	Redemptions int
}

// Add sums up.
func (s *Stats) Add(t Stats) {
	s.Coupons += t.Coupons
	s.Sessions += t.Sessions
	s.Redemptions += t.Redemptions
}

// Run lives one life and returns a [*FaultError], or nil when all was well.
func Run(c Config) (Stats, error) {
	c.Steps = cmp.Or(c.Steps, defaultSteps)
	c.Customers = cmp.Or(c.Customers, defaultCustomers)
	c.Nodes = cmp.Or(c.Nodes, defaultNodes)
	steps := make([]int, c.Steps)
	for i := range steps {
		steps[i] = i
	}
	w := live(c, steps)
	if w.fault == "" {
		return w.stats(), nil
	}
	if c.KeepTrace {
		return w.stats(), &FaultError{Seed: c.Seed, Fault: w.fault, Trace: w.trace}
	}
	return w.stats(), shorten(c, steps, w)
}

// live lives a life of these steps.
func live(c Config, steps []int) *World {
	w := newWorld(c)
	defer func() { _ = w.store.Close() }()
	for _, i := range steps {
		if w.fault != "" {
			break
		}
		w.step(i)
		w.check()
	}
	if w.fault == "" {
		w.rest()
	} else {
		w.finish() // so that no goroutine is left behind
	}
	return w
}

func (w *World) stats() Stats {
	return Stats{Coupons: len(w.coupons), Sessions: len(w.fake.Sessions()), Redemptions: w.used}
}

// shorten leaves out one stretch of steps after the other, as long as the life
// still ends with a fault.
func shorten(c Config, steps []int, failed *World) *FaultError {
	for stretch := len(steps) / 2; stretch > 0; stretch /= 2 {
		for at := 0; at+stretch <= len(steps); {
			fewer := slices.Concat(steps[:at], steps[at+stretch:])
			if w := live(c, fewer); w.fault != "" {
				steps, failed = fewer, w
			} else {
				at += stretch
			}
		}
	}
	return &FaultError{Seed: c.Seed, Fault: failed.fault, Trace: failed.trace}
}
