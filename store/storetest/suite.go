package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// DefaultGoroutines is how many goroutines call at once in the clauses about concurrency,
// unless [Capabilities] tell another number.
const DefaultGoroutines = 64

// Capabilities are the differences between stores that the contract allows. The zero value
// is right for a store that lives and dies with its process.
type Capabilities struct {
	// Reopen returns another store on the data of s, as a second process would open it; s
	// may still be in use, or closed. With it, the clauses about concurrency use two
	// stores, and the suite checks that what was stored outlives the store. Nil declares
	// that the data is gone when s is closed.
	Reopen func(t *testing.T, s store.Store) store.Store
	// Damage replaces the document of a stored record by text that is not JSON, and returns a
	// function that restores the document. The kind is a kind of [store.UnreadableError]. With
	// Damage, the suite checks that a record that cannot be read does not affect other records.
	// Nil declares that no other program can change what the store keeps.
	Damage func(t *testing.T, s store.Store, kind, id string) (restore func())
	// Miscount adds to a stored counter, for which no record holds a claim. With Miscount, the suite checks that
	// [store.Verifier] finds the counter. Nil declares that no other program can change what the store keeps.
	Miscount func(t *testing.T, s store.Store, counter string, by eligibility.Count)
	// Goroutines is how many goroutines call at once; 0 is [DefaultGoroutines].
	Goroutines int
	// Rounds is how often each race is run; 0 is 1.
	Rounds int
}

// clause is one sentence of the contract and how it is checked.
type clause struct {
	name  string
	says  string
	check func(*probe)
}

// Run checks every clause of the contract, each as a parallel subtest of its own. The
// function newStore returns a new, empty store; the suite closes it. It is called in the
// subtest, so that its cleanup may use t.
func Run(t *testing.T, newStore func(t *testing.T) store.Store, can Capabilities) {
	t.Helper()
	if can.Goroutines <= 0 {
		can.Goroutines = DefaultGoroutines
	}
	can.Goroutines = max(can.Goroutines, 8)
	can.Rounds = max(can.Rounds, 1)
	for _, c := range clauses(can) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &probe{T: t, s: newStore(t), can: can, says: c.says}
			t.Cleanup(func() {
				if err := p.s.Close(); err != nil {
					t.Errorf("the contract says: Close frees what the store holds; it may be called again\nbut it returned %v", err)
				}
			})
			c.check(p)
			if !p.closed {
				p.consistent()
			}
		})
	}
}

func clauses(can Capabilities) []clause {
	var all []clause
	for _, group := range [][]clause{
		reserveClauses(), limitClauses(), replayClauses(), pointsClauses(), handOverClauses(),
		applyClauses(), lateClauses(), couponClauses(), codeClauses(), batchClauses(), lookUpClauses(), listClauses(), journalClauses(),
		callClauses(), textClauses(), identityClauses(), refundClauses(), chargeClauses(), attemptClauses(), raceClauses(), eventRaceClauses(), codeRaceClauses(), batchRaceClauses(), codeReservationRaceClauses(),
	} {
		all = append(all, group...)
	}
	if can.Damage != nil {
		all = append(all, damageClauses()...)
	}
	if can.Miscount != nil {
		all = append(all, verifyClauses()...)
	}
	if can.Reopen != nil {
		all = append(all, reopenClauses()...)
	}
	return all
}

// probe checks one clause on one store.
type probe struct {
	*testing.T
	s       store.Store
	can     Capabilities
	says    string
	closed  bool // the clause has already closed the store
	watched bool // set while calls run that must not change the store
	made    atomic.Int64
}

// next returns an unused number.
func (p *probe) next() int { return int(p.made.Add(1)) }

// stop fails the clause and prints it.
func (p *probe) stop(format string, args ...any) {
	p.Helper()
	p.Fatalf("the contract says: %s\nbut %s", p.says, fmt.Sprintf(format, args...))
}

func (p *probe) ok(err error, call string, args ...any) {
	p.Helper()
	if err != nil {
		p.stop("%s returned %v", fmt.Sprintf(call, args...), err)
	}
}

func (p *probe) fails(err, want error, call string, args ...any) {
	p.Helper()
	if !errors.Is(err, want) {
		p.stop("%s returned %v instead of %v", fmt.Sprintf(call, args...), err, want)
	}
}

// request is a method of the contract with one argument.
type request[R, A any] func(s store.Store, ctx context.Context, with R) (A, error)

// answer makes a call that must succeed.
func answer[R, A any](p *probe, call request[R, A], with R) A {
	p.Helper()
	got, err := call(p.s, p.Context(), with)
	p.ok(err, "a call with %.300s", fmt.Sprintf("%#v", with))
	return got
}

// fails checks that a call fails with the error and changes nothing in the store.
func fails[R, A any](p *probe, call request[R, A], with R, want error, what string, args ...any) {
	p.Helper()
	_ = failure(p, call, with, want, what, args...)
}

// failure returns the error of a call that must fail.
func failure[R, A any](p *probe, call request[R, A], with R, want error, what string, args ...any) (err error) {
	p.Helper()
	p.unchanged("a call that fails", func() { _, err = call(p.s, p.Context(), with) })
	p.fails(err, want, "a call %s with %.300s", fmt.Sprintf(what, args...), fmt.Sprintf("%#v", with))
	return err
}

// atOnce makes n calls at once. It returns their answers and errors in the order of the calls.
func atOnce[R, A any](p *probe, n int, call request[R, A], with func(i int) R) ([]A, []error) {
	p.Helper()
	answers := make([]A, n)
	return answers, p.together(n, func(ctx context.Context, s store.Store, i int) (err error) {
		answers[i], err = call(s, ctx, with(i))
		return err
	})
}

// own stops the test after an error of the suite itself.
func (p *probe) own(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("storetest made something invalid: %v", err)
	}
}

// same compares values. A nil list equals an empty list. It tries reflect.DeepEqual first, which is
// twenty times as fast as cmp.Equal.
func same[V any](p *probe, got, want V, what string, args ...any) {
	p.Helper()
	if !reflect.DeepEqual(want, got) && !cmp.Equal(want, got, cmpopts.EquateEmpty()) {
		p.stop("%s is another (-want +got):\n%s", fmt.Sprintf(what, args...), cmp.Diff(want, got, cmpopts.EquateEmpty()))
	}
}

// unchanged runs calls and checks that they change nothing in the store. If such a check is already
// running, it only runs the calls.
func (p *probe) unchanged(what string, calls func()) {
	p.Helper()
	if p.watched {
		calls()
		return
	}
	p.watched = true
	before := p.everything()
	calls()
	same(p, p.everything(), before, "what is stored after %s", what)
	p.watched = false
}

func (p *probe) everything() Everything {
	p.Helper()
	all, err := Read(p.Context(), p.s)
	p.ok(err, "reading the whole store")
	return all
}

func (p *probe) consistent() {
	p.Helper()
	if err := Check(p.Context(), p.s); err != nil {
		p.Errorf("the contract says: %s\nbut afterwards the store contradicts itself: %v", p.says, err)
	}
}

// stores returns the stores that goroutines share: one store, or two stores on the same data.
func (p *probe) stores() []store.Store {
	p.Helper()
	if p.can.Reopen == nil {
		return []store.Store{p.s}
	}
	return []store.Store{p.s, p.reopen()}
}

func (p *probe) reopen() store.Store {
	p.Helper()
	other := p.can.Reopen(p.T, p.s)
	p.Cleanup(func() { _ = other.Close() })
	return other
}

// together runs a call in n goroutines at once. It returns their errors in the order of the calls.
func (p *probe) together(n int, do func(ctx context.Context, s store.Store, i int) error) []error {
	p.Helper()
	stores, errs := p.stores(), make([]error, n)
	var begin, done sync.WaitGroup
	begin.Add(1)
	for i := range n {
		done.Go(func() {
			begin.Wait()
			errs[i] = do(p.Context(), stores[i%len(stores)], i)
		})
	}
	begin.Done()
	done.Wait()
	return errs
}

// succeeded returns the number of calls that succeeded. The others must have failed with one of the
// allowed errors.
func (p *probe) succeeded(errs []error, allowed ...error) int {
	p.Helper()
	count := 0
	for i, err := range errs {
		if err != nil && !slices.ContainsFunc(allowed, func(want error) bool { return errors.Is(err, want) }) {
			p.stop("call %d of %d at once returned %v", i, len(errs), err)
		}
		if err == nil {
			count++
		}
	}
	return count
}
