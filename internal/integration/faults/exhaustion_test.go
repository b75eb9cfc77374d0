package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

const (
	wantedUses  = 10_000
	allowedUses = 3_000
	callers     = 64 // goroutines of each process
	// Under the race detector, which makes a call five times as expensive, only the
	// mixture is of full size, and the others are so many times smaller.
	smallerUnderRace = 5
)

// uses is what has become of the uses that a process wanted.
type uses struct {
	Completed int
	Exhausted int // usage_limit_reached
	Failed    int
	Failure   string // the first
}

// TestExactlyTheAllowedUsesSucceed lets three processes with 64 goroutines each want
// 10,000 uses of a coupon that allows 3,000: all with batches, all without, and one
// with, one without, and one in transactions of its own. Nothing is repeated: an
// error is a failure.
func TestExactlyTheAllowedUsesSucceed(t *testing.T) {
	server := newServer(t)
	for name, modes := range map[string][]string{
		"batched": {batched, batched, batched},
		"alone":   {alone, alone, alone},
		"mixed":   {batched, alone, inTransactions},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, allowed := wantedUses, allowedUses
			if underRace && name != "mixed" {
				wanted, allowed = wanted/smallerUnderRace, allowed/smallerUnderRace
			}
			h := newHarness(t, server)
			defer h.close()
			c := h.limitedCoupon(int64(allowed))
			got := make([]uses, len(h.clients))
			var running sync.WaitGroup
			for i, client := range h.clients {
				work := task{
					Coupons: []roundCoupon{c}, Goroutines: callers, Mode: modes[i],
					From: wanted * i / len(h.clients), To: wanted * (i + 1) / len(h.clients),
				}
				running.Go(func() { got[i] = client.converse(work, func(line) {}).Uses })
			}
			running.Wait()
			var all uses
			for i, u := range got {
				t.Logf("process %d (%s): %d completed, %d usage_limit_reached, %d failed %s", i+1, modes[i], u.Completed, u.Exhausted, u.Failed, u.Failure)
				all.Completed += u.Completed
				all.Exhausted += u.Exhausted
				all.Failed += u.Failed
			}
			if want := (uses{Completed: allowed, Exhausted: wanted - allowed}); all != want {
				t.Errorf("%d uses wanted, %d allowed: %+v", wanted, allowed, all)
			}
			h.current = new(tally)
			h.audit(t.Context(), "at exhaustion", c)
			if err := storetest.CheckInvariants(t.Context(), h.store); err != nil {
				t.Error(err)
			}
		})
	}
}

func (h *harness) limitedCoupon(most int64) roundCoupon {
	h.t.Helper()
	c, err := coupon.New(coupon.Draft{
		Code: "HOT", Name: "Coupon", DiscountType: pricing.Percentage, DiscountValue: decimal.NewFromInt(10),
	}, coupon.Creation{ID: coupon.IDPrefix + "hot", At: epoch})
	if err != nil {
		h.t.Fatal(err)
	}
	c.Limits = coupon.Limits{MaxUses: most, MaxUsesPerUser: 1}
	if err := h.store.CreateCoupon(h.t.Context(), c); err != nil {
		h.t.Fatal(err)
	}
	return roundCoupon{ID: c.ID, Limits: c.Limits}
}

// useUp wants each use once: a place, and when there is one, its payment.
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
	var rejection *coupon.Rejection
	switch {
	case err == nil:
		u.Completed++
	case errors.As(err, &rejection) && len(rejection.Reasons) == 1 && rejection.Reasons[0].Code == coupon.UsageLimitReached:
		u.Exhausted++
	default:
		if u.Failed++; u.Failure == "" {
			u.Failure = err.Error()
		}
	}
}

// use reserves and completes use n.
func (w *client) use(ctx context.Context, s *pgxstore.Store, t task, n int64) error {
	c := t.Coupons[0]
	o := operation{Coupon: c.ID, Limits: c.Limits, Customer: fmt.Sprintf("c%d", n), Key: "k"}
	o.ID = redemptionID(o.Coupon, o.Customer, o.Key)
	o.Order = store.OrderIDPrefix + o.ID
	err := w.on(ctx, s, t.Mode, func(s *pgxstore.Store) error {
		_, err := s.Reserve(ctx, o.reservation(w.quote))
		return err
	})
	if err != nil {
		return err
	}
	o.Event, o.Session = redemption.SessionCompleted, "cs_"+o.Order
	return w.on(ctx, s, t.Mode, func(s *pgxstore.Store) error {
		_, err := s.Settle(ctx, o.settlement())
		return err
	})
}

// on calls the store, in a transaction of the host's where that is the mode.
func (w *client) on(ctx context.Context, s *pgxstore.Store, mode string, do func(*pgxstore.Store) error) error {
	if mode != inTransactions {
		return do(s)
	}
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error { return do(s.WithTx(tx)) })
}
