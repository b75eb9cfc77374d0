package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// probe is a running clause. Its methods that end the test are called from the
// goroutine of the test only.
type probe struct {
	*testing.T
	s    store.Store
	can  Capabilities
	says string
	made atomic.Int64 // numbers what the clause makes
	// crossed is how often two calls were made at once.
	crossed uint
}

// next returns a number that the clause has not had yet.
func (p *probe) next() int { return int(p.made.Add(1)) }

// broken reports that the clause does not hold.
func (p *probe) broken(format string, args ...any) {
	p.Helper()
	p.Errorf("the contract says: %s\nbut %s", p.says, fmt.Sprintf(format, args...))
}

// stop is broken where nothing after it makes sense.
func (p *probe) stop(format string, args ...any) {
	p.Helper()
	p.broken(format, args...)
	p.FailNow()
}

// ok stops when a call that has to succeed did not.
func (p *probe) ok(err error, format string, args ...any) {
	p.Helper()
	if err != nil {
		p.stop("%s returned the error: %v", fmt.Sprintf(format, args...), err)
	}
}

// fails checks that a call has returned an error that matches want.
func (p *probe) fails(err, want error, format string, args ...any) {
	p.Helper()
	if !errors.Is(err, want) {
		p.broken("%s returned the error %v, and not one that matches %q", fmt.Sprintf(format, args...), err, want)
	}
}

// same checks that two values are equal.
func same[T any](p *probe, got, want T, format string, args ...any) {
	p.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.broken("%s is another (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// counts checks the figures of a coupon.
func (p *probe) counts(couponID string, used, reserved int64) {
	p.Helper()
	c, err := p.s.Coupon(p.Context(), couponID)
	p.ok(err, "Coupon")
	if c.UsedCount != used || c.ReservedCount != reserved {
		p.broken("the coupon has UsedCount %d and ReservedCount %d, and not %d and %d", c.UsedCount, c.ReservedCount, used, reserved)
	}
}

// redemption reads a record that exists.
func (p *probe) redemption(id string) redemption.Redemption {
	p.Helper()
	r, err := p.s.Redemption(p.Context(), id)
	p.ok(err, "Redemption(%q)", id)
	return r
}

// order reads an order that exists.
func (p *probe) order(id string) store.Order {
	p.Helper()
	o, err := p.s.Order(p.Context(), id)
	p.ok(err, "Order(%q)", id)
	return o
}

// redemptions lists all records of the filter, newest first.
func (p *probe) redemptions(list store.RedemptionList) []redemption.Redemption {
	p.Helper()
	all, err := allRedemptions(p.Context(), p.s, list)
	p.ok(err, "ListRedemptions")
	return all
}

// stores returns what the clauses about concurrency call in turn: the store, and a
// second one on the same data if there can be one.
func (p *probe) stores() []store.Store {
	p.Helper()
	if p.can.Reopen == nil {
		return []store.Store{p.s}
	}
	return []store.Store{p.s, p.reopen()}
}

// reopen returns another store on the same data.
func (p *probe) reopen() store.Store {
	p.Helper()
	other := p.can.Reopen(p.T, p.s)
	p.Cleanup(func() {
		if err := other.Close(); err != nil {
			p.broken("Close of the second store returned the error %v", err)
		}
	})
	return other
}

// together calls do n times, all at once and through all stores, and returns the
// errors.
func (p *probe) together(n int, do func(ctx context.Context, s store.Store, i int) error) []error {
	p.Helper()
	stores := p.stores()
	errs := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			errs[i] = do(p.Context(), stores[i%len(stores)], i)
		})
	}
	close(start)
	running.Wait()
	return errs
}

// succeeded counts the calls without an error; every other must match refusal.
func (p *probe) succeeded(errs []error, refusal error, call string) int {
	p.Helper()
	n := 0
	for _, err := range errs {
		switch {
		case err == nil:
			n++
		case refusal == nil || !errors.Is(err, refusal):
			p.broken("one of many %s at once returned the error: %v", call, err)
		}
	}
	return n
}

// invariants checks what is true at every quiet moment.
func (p *probe) invariants() {
	p.Helper()
	if err := CheckInvariants(p.Context(), p.s); err != nil {
		p.broken("%v", err)
	}
}
