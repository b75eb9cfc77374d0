package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// FaultError is a life that ended with something that must not be.
type FaultError struct {
	// Seed leads to it again.
	Seed uint64
	// Invariant is what does not hold.
	Invariant Invariant
	// Fault is how.
	Fault string
	// Trace is what happened: without any step that could be left out, unless it was
	// to be left as it is.
	Trace []string
	// Steps is how many steps the trace has.
	Steps int
}

// Error shows seed, fault and trace.
func (f *FaultError) Error() string {
	return fmt.Sprintf("seed %d: %s: %s\n%s", f.Seed, f.Invariant, f.Fault, strings.Join(f.Trace, "\n"))
}

// Life is what a life was like.
type Life struct {
	Coupons, Sessions, Uses int
	Coverage                Coverage
	// Trace is what happened, when it was asked for.
	Trace []string
	// Final names everything that is there at the end, when a trace was asked for.
	Final []string
}

// Digest is a fingerprint of trace and final state.
func (l Life) Digest() string {
	sum := sha256.Sum256([]byte(strings.Join(l.Trace, "\n") + "\n\n" + strings.Join(l.Final, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Run lives one life and returns a [*FaultError], or nil when all was well.
func Run(c Config) (Life, error) {
	steps := make([]int, max(c.Steps, 0))
	if len(steps) == 0 {
		steps = make([]int, defaultSteps)
	}
	for i := range steps {
		steps[i] = i
	}
	w := live(c, steps)
	if w.fault == nil {
		return w.life(), nil
	}
	if !c.KeepTrace {
		steps = shorten(c, steps, w.fault.invariant)
	}
	return w.life(), tell(c, steps)
}

// tell lives the life once more, and writes down what happens.
func tell(c Config, steps []int) *FaultError {
	c.Trace = true
	w := live(c, steps)
	f := &FaultError{Seed: c.Seed, Trace: w.trace, Steps: len(steps)}
	if w.fault != nil {
		f.Invariant, f.Fault = w.fault.invariant, w.fault.text
	}
	return f
}

// live lives a life of these steps.
func live(c Config, steps []int) (w *world) {
	w = newWorld(c)
	defer w.end()
	defer func() {
		if r := recover(); r != nil {
			w.fail(NoSurprise, "panic: %v", r)
		}
	}()
	for _, i := range steps {
		if w.fault != nil {
			return w
		}
		w.step(i)
	}
	if w.fault == nil {
		w.rest()
	}
	if w.fault == nil && w.tracing {
		w.final = w.finals()
	}
	return w
}

// end leaves no coroutine and no open file behind.
func (w *world) end() {
	for _, n := range w.nodes {
		w.bury(n)
	}
	for _, h := range w.idle {
		h.stop()
	}
	if w.database != nil {
		w.sound("close the database", w.database.Close())
	}
}

func (w *world) life() Life {
	l := Life{Coverage: w.coverage, Trace: w.trace, Final: w.final}
	for _, s := range w.shops {
		l.Coupons += len(s.coupons)
		l.Sessions += len(s.sessions)
		l.Uses += s.used
	}
	return l
}

// shorten leaves out one stretch of steps after the other, as long as the life still
// ends with the same invariant broken, until no single step can be left out.
func shorten(c Config, steps []int, broken Invariant) []int {
	c.Trace = false
	fails := func(steps []int) bool {
		w := live(c, steps)
		return w.fault != nil && w.fault.invariant == broken
	}
	for stretch := max(len(steps)/2, 1); ; {
		before := len(steps)
		for at := 0; at+stretch <= len(steps); {
			if fewer := slices.Concat(steps[:at], steps[at+stretch:]); fails(fewer) {
				steps = fewer
			} else {
				at += stretch
			}
		}
		if stretch == 1 && len(steps) == before {
			return steps
		}
		stretch = max(stretch/2, 1)
	}
}
