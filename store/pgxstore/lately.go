package pgxstore

import "sync/atomic"

// lately remembers for some batches that one of them met something that the next ones are
// likely to meet as well. It is a guess: two that note at once do no harm. The zero value
// remembers nothing.
type lately struct {
	left atomic.Int64 // batches for which it is remembered
}

// latelyLast is for how many batches it is remembered after the last that met it.
const latelyLast = 16

func (l *lately) met() bool { return l.left.Load() > 0 }

// note tells whether a batch met it.
func (l *lately) note(met bool) {
	switch {
	case met:
		l.left.Store(latelyLast)
	case l.met():
		l.left.Add(-1)
	}
}
