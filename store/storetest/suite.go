package storetest

import (
	"testing"

	"github.com/couponkit/couponkit/store"
)

// DefaultGoroutines is how many goroutines call at once in the clauses about
// concurrency, unless [Capabilities] tell another number.
const DefaultGoroutines = 64

// Capabilities are the differences between stores that the contract allows. The zero
// value is right for a store that lives and dies with its process.
type Capabilities struct {
	// Reopen returns another store on the data of s, as a second process would open
	// it; s may still be in use, or closed. Nil declares that the data is gone when s
	// is closed, and that no other process sees it. With it, the suite also checks
	// that what was stored outlives the store, and runs the clauses about concurrency
	// through two stores at once.
	Reopen func(t *testing.T, s store.Store) store.Store
	// Goroutines is how many goroutines call at once; 0 is [DefaultGoroutines], and fewer
	// than 8 are 8.
	Goroutines int
}

// clause is one sentence of the contract and how it is checked.
type clause struct {
	name  string
	says  string
	check func(*probe)
}

// Run checks every clause of the contract, each as a parallel subtest of its own.
// newStore returns a new, empty store; the suite closes it. It is called in the
// subtest, so that its cleanup may use t.
func Run(t *testing.T, newStore func(t *testing.T) store.Store, can Capabilities) {
	t.Helper()
	if can.Goroutines == 0 {
		can.Goroutines = DefaultGoroutines
	}
	can.Goroutines = max(can.Goroutines, 8)
	for _, c := range clauses(can) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("the contract says: Close frees what the store holds; it may be called again\nbut it returned %v", err)
				}
			})
			c.check(&probe{T: t, s: s, can: can, says: c.says})
		})
	}
}

func clauses(can Capabilities) []clause {
	var all []clause
	for _, group := range [][]clause{
		createClauses(), updateClauses(), mirrorClauses(), refusalClauses(),
		lookUpClauses(), couponListClauses(), searchClauses(), redemptionListClauses(),
		reserveClauses(), limitClauses(), replayClauses(), pointsClauses(),
		keyClauses(), takeOverClauses(), takeOverRaceClauses(), leavingClauses(),
		settleClauses(), paymentClauses(), machineClauses(), transitionClauses(), sweepClauses(),
		orderClauses(), attachClauses(), sessionRaceClauses(), crossingClauses(), failureClauses(), endingClauses(), boundsClauses(),
		contextClauses(), copyClauses(), textClauses(), instantClauses(), chaosClauses(),
	} {
		all = append(all, group...)
	}
	if can.Reopen != nil {
		all = append(all, reopenClauses()...)
	}
	return all
}
