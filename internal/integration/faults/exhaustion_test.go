package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// uses is what has become of the uses that a process wanted.
type uses struct {
	Completed int
	Exhausted int // a limit left no room
	Failed    int
	Failure   string // the first
}

// TestExactlyTheAllowedUsesSucceed lets three processes with 64 goroutines each want 10,000
// uses of a coupon that allows 3,000: one with group commit, one without, and one in
// transactions of its own. Nothing is repeated: an error is a failure.
func TestExactlyTheAllowedUsesSucceed(t *testing.T) {
	const wanted, allowed, callers = 10_000, 3_000, 64
	h := newHarness(t, newServer(t))
	defer h.close()
	c := h.newCoupon("HOT", coupon.Limits{MaxUses: allowed, MaxUsesPerUser: 1})
	got := make([]uses, len(h.clients))
	var running sync.WaitGroup
	for i, mode := range []string{batched, alone, inTransactions} {
		work := task{
			Coupons: []roundCoupon{c}, Goroutines: callers, Mode: mode,
			From: wanted * i / len(h.clients), To: wanted * (i + 1) / len(h.clients),
		}
		running.Go(func() { got[i] = h.clients[i].converse(work, func(line) {}).Uses })
	}
	running.Wait()
	var all uses
	for i, u := range got {
		t.Logf("process %d: %+v", i+1, u)
		all = uses{all.Completed + u.Completed, all.Exhausted + u.Exhausted, all.Failed + u.Failed, all.Failure + u.Failure}
	}
	require.Equal(t, uses{Completed: allowed, Exhausted: wanted - allowed}, all)
	counts, err := h.store.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
	require.NoError(t, err)
	require.Equal(t, []eligibility.Count{{Completed: allowed}}, counts)
	require.NoError(t, storetest.Check(t.Context(), h.store))
}

// useUp wants each use once: a reservation, and if there is room, its payment.
func (w *client) useUp(s *pgxstore.Store, t task) (all uses) {
	var next atomic.Int64
	next.Store(int64(t.From) - 1)
	var mu sync.Mutex
	var running sync.WaitGroup
	for range t.Goroutines {
		running.Go(func() {
			for n := next.Add(1); n < int64(t.To); n = next.Add(1) {
				err := w.use(context.Background(), s, t, n)
				mu.Lock()
				all.add(err)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return all
}

func (u *uses) add(err error) {
	switch {
	case err == nil:
		u.Completed++
	case errors.Is(err, store.ErrLimit):
		u.Exhausted++
	default:
		if u.Failed++; u.Failure == "" {
			u.Failure = err.Error()
		}
	}
}

// use reserves and completes use n.
func (w *client) use(ctx context.Context, s *pgxstore.Store, t task, n int64) error {
	o := operation{Coupons: t.Coupons, Customer: fmt.Sprint("c", n), Key: "k", Order: fmt.Sprint("ord_", n), NewID: "new"}
	if err := w.on(ctx, s, t.Mode, func(s *pgxstore.Store) error {
		_, err := s.Reserve(ctx, o.reservation(cheapQuote()))
		return err
	}); err != nil {
		return err
	}
	o.Event, o.Session = event(redemption.Paid), "cs_"+o.Order
	return w.on(ctx, s, t.Mode, func(s *pgxstore.Store) error {
		_, err := s.Apply(ctx, o.settlement())
		return err
	})
}
