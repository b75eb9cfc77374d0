package couponkit_test

import (
	"errors"

	"github.com/couponkit/couponkit"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// errCrash is what every call returns once the process has stopped.
var errCrash = errors.New("the process has stopped")

// fuse stops a process after a number of calls to the world outside: the last one
// is lost before or after it takes effect, and none gets through after it.
type fuse struct {
	armed bool
	left  int
	after bool // the last call takes effect, and its answer is lost
	blown bool
}

func (f *fuse) arm(calls int, after bool) { *f = fuse{armed: true, left: calls, after: after} }

// restart is the process coming up again.
func (f *fuse) restart() { *f = fuse{} }

// gate is what every call of the process passes.
func (f *fuse) gate(_ string, effect func() error) error {
	switch {
	case f.blown:
		return errCrash
	case !f.armed:
		return effect()
	case f.left > 0:
		f.left--
		return effect()
	}
	f.blown = true
	if f.after {
		return errors.Join(errCrash, effect())
	}
	return errCrash
}

// crashingStore is a store that the process reaches until its fuse blows.
func crashingStore(s store.Store, f *fuse) store.Store { return gated{s, f.gate} }

// crashingProcessor is a processor that the process reaches until its fuse blows.
func crashingProcessor(p processor.Processor, f *fuse) processor.Processor {
	return gatedProcessor{p, f.gate}
}

// crashingPoints is a ledger that the process reaches until its fuse blows.
func crashingPoints(p couponkit.Points, f *fuse) couponkit.Points { return gatedPoints{p, f.gate} }
