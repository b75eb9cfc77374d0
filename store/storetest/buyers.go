package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Buyers use a coupon up while a test breaks something, such as the server. They repeat a call that
// fails, with the same key, until the store decides. Afterwards, Check reports whether the store
// kept every acknowledged payment, and exactly the allowed uses.
//
// A Buyers is made by [NewBuyers]. Its methods are safe for concurrent use.
type Buyers struct {
	coupon  coupon.Coupon
	running sync.WaitGroup
	bought  atomic.Int64

	mu     sync.Mutex
	store  store.Store
	paid   []string // IDs of orders whose payment the store acknowledged
	failed error
}

// NewBuyers stores a coupon with a limit of uses, and one use for each customer.
func NewBuyers(ctx context.Context, s store.Store, uses int64) (*Buyers, error) {
	code, err := coupon.ParseCode("USE-IT-UP")
	if err != nil {
		return nil, err
	}
	c, err := s.SaveCoupon(ctx, changeOf(store.CreateCoupon, draft(0, coded(code), limits(uses, 1))))
	return &Buyers{coupon: c, store: s}, err
}

// Start lets so many goroutines buy until no use is left, or until ctx ends. A call that takes
// longer than attempt is given up and repeated.
func (b *Buyers) Start(ctx context.Context, callers int, attempt time.Duration) {
	for range callers {
		b.running.Go(func() {
			if err := b.buy(ctx, attempt); err != nil {
				b.locked(func() { b.failed = errors.Join(b.failed, err) })
			}
		})
	}
}

// Move lets the buyers go on at another store, as a proxy would send them to another server.
func (b *Buyers) Move(s store.Store) { b.locked(func() { b.store = s }) }

func (b *Buyers) locked(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// Await waits until so many payments were acknowledged, or until ctx ends.
func (b *Buyers) Await(ctx context.Context, payments int) error {
	for b.Acknowledged() < payments {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d payments: %w", b.Acknowledged(), payments, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Acknowledged returns the number of payments that were acknowledged.
func (b *Buyers) Acknowledged() (payments int) {
	b.locked(func() { payments = len(b.paid) })
	return payments
}

// Check waits for the buyers, reads the whole store, and returns an error if it has other paid
// orders than were acknowledged, if not exactly the allowed uses are counted, or if [Check] finds
// anything.
func (b *Buyers) Check(ctx context.Context, s store.Store) error {
	b.running.Wait()
	if b.failed != nil {
		return b.failed
	}
	all, err := Read(ctx, s)
	if err != nil {
		return err
	}
	if err := all.Check(); err != nil {
		return err
	}
	var paid []string
	for _, o := range all.Orders {
		if o.Order.State == redemption.OrderPaid {
			paid = append(paid, o.Order.ID)
		}
	}
	slices.Sort(b.paid)
	if diff := cmp.Diff(b.paid, paid); diff != "" {
		return fmt.Errorf("paid orders (-acknowledged +stored):\n%s", diff)
	}
	want := eligibility.Count{Completed: b.coupon.Limits.MaxUses}
	if got := all.Counters[eligibility.CouponUses(b.coupon.ID)]; got != want {
		return fmt.Errorf("the uses of the coupon are %+v, and not %+v", got, want)
	}
	return nil
}

// buy buys until the coupon is used up.
func (b *Buyers) buy(ctx context.Context, attempt time.Duration) error {
	for {
		r := b.next()
		err := answered(ctx, b, attempt, store.Store.Reserve, r)
		if errors.Is(err, store.ErrLimit) {
			return nil
		}
		if err == nil {
			err = answered(ctx, b, attempt, store.Store.Apply, settlement(event(redemption.Paid, r.Order)))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Order.ID, err)
		}
		b.locked(func() { b.paid = append(b.paid, r.Order.ID) })
	}
}

// next returns a request for the checkout of another customer.
func (b *Buyers) next() store.Reservation {
	n := int(b.bought.Add(1))
	return checkout(n, fmt.Sprint("customer-", n), b.coupon)
}

// answered repeats a call until the store answers it.
func answered[R, A any](ctx context.Context, b *Buyers, attempt time.Duration, call request[R, A], with R) error {
	for {
		var s store.Store
		b.locked(func() { s = b.store })
		bounded, cancel := context.WithTimeout(ctx, attempt)
		_, err := call(s, bounded, with)
		cancel()
		if err == nil || errors.Is(err, store.ErrLimit) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
