package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// claimCalls notes how often a store asks to reserve, which of its batches ask to be
// looked for before they are stored, which single calls expect others at the gate, and how
// many of those alone met what is another's, so that they are asked once more.
type claimCalls struct {
	mu      sync.Mutex
	asked   int
	all     []bool
	crowded []bool
	again   int
}

// askedAlone is a key of what a context is about.
type askedAlone struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (c *claimCalls) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "couponkit_claim") {
		return ctx
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	var expecting bool
	for _, a := range data.Args {
		if flag, is := a.(bool); is {
			expecting = flag
		}
	}
	if strings.Contains(data.SQL, "couponkit_claim_plain") {
		c.all = append(c.all, expecting)
	} else {
		c.crowded = append(c.crowded, expecting)
	}
	if strings.Contains(data.SQL, "couponkit_claim_alone") {
		return context.WithValue(ctx, askedAlone{}, true)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *claimCalls) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	var server *pgconn.PgError
	if ctx.Value(askedAlone{}) != nil && errors.As(data.Err, &server) && server.Code == "23505" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.again++
	}
}

// take returns what the batches since it was asked last were.
func (c *claimCalls) take() (taken []bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, c.all, c.asked = c.all, nil, 0
	return taken
}

// calls returns how often was asked since it was asked last.
func (c *claimCalls) calls() (asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, c.asked = c.asked, 0
	return asked
}

// askedAgain returns how often a call alone was asked once more since it was asked last.
func (c *claimCalls) askedAgain() (again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again, c.again = c.again, 0
	return again
}

// repeating is a process whose batches are watched, and the coupons that they are about.
type repeating struct {
	*testing.T

	pool    *pgxpool.Pool
	wire    conversation
	asked   claimCalls
	batches batchSizes
	store   *pgxstore.Store
	coupons []coupon.Coupon
}

func newRepeating(t *testing.T, coupons int) *repeating {
	t.Helper()
	w := &repeating{T: t}
	w.pool = w.wire.on(t, shared.NewCopy(t), func(config *pgxpool.Config) { config.ConnConfig.Tracer = &w.asked })
	w.store = newStore(t, w.pool, pgxstore.Options{Batch: pgxstore.BatchOptions{OnBatch: w.batches.note}})
	for n := range coupons {
		c := newCoupon(t, fmt.Sprint("hot-", n), func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 1_000, MaxUsesPerUser: 1} })
		require.NoError(t, w.store.CreateCoupon(t.Context(), c))
		w.coupons = append(w.coupons, c)
	}
	return w
}

// group lets sixteen customers reserve at once. So many of the first are those of the
// first group, with their keys or with other keys and the same IDs.
func (w *repeating) group(name string, keys, ids int) {
	w.Helper()
	var customers []*traveller
	for i := range 16 {
		customer := &traveller{coupon: w.coupons[i%len(w.coupons)], quote: quote(w.T), name: fmt.Sprint(name, "-", i)}
		if i < keys {
			customer.name = fmt.Sprint("first-", i)
		}
		customers = append(customers, customer)
	}
	w.wire.together(w.T, w.pool, customers, func(c *traveller) (err error) {
		asked := checkout(c.coupon, c.quote, c.name, "k", epoch)
		if i := slices.Index(customers, c); i >= keys && i < keys+ids {
			id := checkout(c.coupon, c.quote, fmt.Sprint("first-", i), "k", epoch).Redemption.ID
			asked.Redemption.ID, asked.Order.ReservationID = id, id
			if _, err = w.store.Reserve(w.Context(), asked); errors.Is(err, store.ErrConflict) {
				return nil
			}
			return fmt.Errorf("the ID of another: %w", err)
		}
		c.reserved, err = w.store.Reserve(w.Context(), asked)
		return err
	})
	for i, c := range customers {
		if c.reserved.Replayed != (i < keys) {
			w.Errorf("%s: replayed is %t", c.name, c.reserved.Replayed)
		}
	}
	sizes := w.batches.take(w.T, len(customers))
	again := w.asked.askedAgain()
	require.Equal(w, len(sizes)+again, w.asked.calls(), "no batch is run again")
	alone := len(slices.DeleteFunc(sizes, func(size int) bool { return size > 1 }))
	require.LessOrEqual(w, again, min(alone, ids), "who is alone with the ID of another is asked again")
}

// all reports whether all batches since it was asked last were cautious, or none.
func (w *repeating) all(cautious bool) bool {
	asked := w.asked.take()
	return len(asked) > 0 && !slices.Contains(asked, !cautious)
}

// TestBatchesExpectRepeats: a batch with requests that were stored before answers each as
// a single call does, in one go, expected or not; for a while they are expected then. A
// request before the batch, alone, is asked again if its ID is another's.
func TestBatchesExpectRepeats(t *testing.T) {
	t.Parallel()
	for _, coupons := range []int{1, 3} {
		for name, repeat := range map[string]struct{ keys, ids int }{"keys": {keys: 4}, "IDs": {ids: 4}, "both": {2, 2}} {
			t.Run(fmt.Sprintf("%s, %d coupons", name, coupons), func(t *testing.T) {
				t.Parallel()
				w := newRepeating(t, coupons)
				w.group("first", 0, 0)
				w.group("new", 0, 0)
				require.True(t, w.all(false), "without a repeat")
				w.group("unexpected", repeat.keys, repeat.ids)
				w.asked.take()
				w.group("expected", repeat.keys, repeat.ids)
				require.True(t, w.all(true), "after a repeat")
				for batches := 0; batches <= 16; batches += len(w.asked.take()) {
					w.group(fmt.Sprint("later-", batches), 0, 0)
				}
				w.group("last", 0, 0)
				require.True(t, w.all(false), "a long time after")
				require.NoError(t, storetest.CheckInvariants(t.Context(), w.store))
			})
		}
	}
}

// TestABatchIsNotStoredAgainAndAgain: of a batch in which two bring one order, the halves are
// asked next. What the batch has met is in itself, however often it is run.
func TestABatchIsNotStoredAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newRepeating(t, 1)
	customers := make([]*traveller, 8)
	for i := range customers {
		customers[i] = &traveller{coupon: w.coupons[0], quote: quote(t), name: fmt.Sprint("c-", i)}
	}
	var refused atomic.Int64
	w.wire.together(t, w.pool, customers, func(c *traveller) error {
		asked := checkout(c.coupon, c.quote, c.name, "k", epoch)
		order := fmt.Sprint(store.OrderIDPrefix, "of-two-", slices.Index(customers, c)/2)
		asked.Redemption.OrderID, asked.Order.ID = order, order
		_, err := w.store.Reserve(t.Context(), asked)
		if errors.Is(err, store.ErrConflict) {
			refused.Add(1)
			return nil
		}
		return err
	})
	require.EqualValues(t, len(customers)/2, refused.Load(), "refused because of the order")
	// All, their halves and so on: each is asked once.
	if asked, most := w.asked.calls(), 2*len(customers)-1; asked > most {
		t.Errorf("%d customers are asked for %d times, want at most %d", len(customers), asked, most)
	}
}
