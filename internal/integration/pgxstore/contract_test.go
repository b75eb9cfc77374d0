package pgxstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestContract runs the suite of the contract in the ways in which hosts use the
// store.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name    string
		options pgxstore.Options
		inTx    bool // every call in a transaction of the host
		beside  bool // and others at the same time without one
		proxy   bool
	}{
		{name: "batched"},
		{name: "alone", options: pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}},
		{name: "in transactions", inTx: true, options: pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}},
		{name: "in transactions beside batches", inTx: true, beside: true},
		{name: "behind a proxy", proxy: true, options: pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			// One database for all clauses, and a schema for each that is being checked:
			// the clauses do not see each other.
			dsn := shared.Need(t).NewDatabase(t)
			if way.proxy {
				dsn = shared.Need(t).NewProxy(t, 10).Through(t, dsn)
			}
			pool := postgrestest.NewPool(t, dsn, func(c *pgxpool.Config) { c.MaxConns = 20 })
			vacant := schemas{pool: pool}
			open := func(t *testing.T, options pgxstore.Options, inTx bool) store.Store {
				t.Helper()
				s, err := pgxstore.New(pool, options)
				if err != nil {
					t.Fatal(err)
				}
				if inTx {
					return &inTransactions{pool: pool, s: s, options: options}
				}
				return &opened{Store: s, options: options}
			}
			storetest.Run(t, func(t *testing.T) store.Store {
				t.Helper()
				options := way.options
				options.Namespace = vacant.take(t)
				return open(t, options, way.inTx)
			}, storetest.Capabilities{Reopen: func(t *testing.T, s store.Store) store.Store {
				t.Helper()
				switch s := s.(type) {
				case *opened:
					return open(t, s.options, way.inTx && !way.beside)
				case *inTransactions:
					return open(t, s.options, way.inTx && !way.beside)
				}
				t.Fatalf("a store of type %T", s)
				return nil
			}})
		})
	}
}

// schemas are those of a database. To make one takes longer than most clauses, so one
// whose clause has ended is emptied, and the next clause has it.
type schemas struct {
	pool *pgxpool.Pool

	mu   sync.Mutex
	made int
	free []pgxstore.Namespace
}

// take returns a schema with empty tables that is the test's own until it ends.
func (s *schemas) take(t *testing.T) pgxstore.Namespace {
	t.Helper()
	in, vacant := s.vacant()
	if !vacant {
		if err := pgxstore.Migrate(t.Context(), s.pool, in); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // whatever has happened is not handed on
		}
		if err := empty(context.WithoutCancel(t.Context()), s.pool, in.Schema); err != nil {
			t.Error(err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, in)
	})
	return in
}

// vacant returns an empty schema, or the name of a new one.
func (s *schemas) vacant() (in pgxstore.Namespace, vacant bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		in, s.free = s.free[last], s.free[:last]
		return in, true
	}
	s.made++
	return pgxstore.Namespace{Schema: fmt.Sprintf("clause_%d", s.made)}, false
}

// opened remembers how a store was opened.
type opened struct {
	*pgxstore.Store

	options pgxstore.Options
}

// inTransactions makes every call in a transaction of the host, which is committed
// also when the contract refuses: a refusal has changed nothing.
type inTransactions struct {
	pool    *pgxpool.Pool
	s       *pgxstore.Store
	options pgxstore.Options
}

var _ store.Store = (*inTransactions)(nil)

func within[T any](ctx context.Context, h *inTransactions, call func(*pgxstore.Store) (T, error)) (T, error) {
	for {
		result, err := attempt(ctx, h, call)
		if !h.s.Retryable(err) {
			return result, err
		}
	}
}

func attempt[T any](ctx context.Context, h *inTransactions, call func(*pgxstore.Store) (T, error)) (T, error) {
	if err := ctx.Err(); err != nil {
		return *new(T), err
	}
	tx, err := h.pool.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return *new(T), err
	}
	result, err := call(h.s.WithTx(tx))
	if commitErr := tx.Commit(context.WithoutCancel(ctx)); commitErr != nil && err == nil {
		return *new(T), commitErr
	}
	return result, err
}

func (h *inTransactions) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	_, err := within(ctx, h, func(s *pgxstore.Store) (struct{}, error) { return struct{}{}, s.CreateCoupon(ctx, c) })
	return err
}

func (h *inTransactions) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	return within(ctx, h, func(s *pgxstore.Store) (coupon.Coupon, error) { return s.UpdateCoupon(ctx, c) })
}

func (h *inTransactions) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	return within(ctx, h, func(s *pgxstore.Store) (coupon.Coupon, error) { return s.ConfirmMirror(ctx, id, m) })
}

func (h *inTransactions) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	_, err := within(ctx, h, func(s *pgxstore.Store) (struct{}, error) { return struct{}{}, s.DeleteCoupon(ctx, id, revision) })
	return err
}

func (h *inTransactions) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	return within(ctx, h, func(s *pgxstore.Store) (coupon.Coupon, error) { return s.Coupon(ctx, id) })
}

func (h *inTransactions) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Found, error) { return s.LookUp(ctx, by) })
}

func (h *inTransactions) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.CouponPage, error) { return s.ListCoupons(ctx, list) })
}

func (h *inTransactions) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Reserved, error) { return s.Reserve(ctx, r) })
}

func (h *inTransactions) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Reserved, error) { return s.TakeOver(ctx, t) })
}

func (h *inTransactions) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Settled, error) { return s.Settle(ctx, t) })
}

func (h *inTransactions) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	return within(ctx, h, func(s *pgxstore.Store) (redemption.Redemption, error) { return s.Transition(ctx, id, e) })
}

func (h *inTransactions) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	return within(ctx, h, func(s *pgxstore.Store) (redemption.Redemption, error) { return s.Redemption(ctx, id) })
}

func (h *inTransactions) ListRedemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.RedemptionPage, error) { return s.ListRedemptions(ctx, list) })
}

func (h *inTransactions) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	return within(ctx, h, func(s *pgxstore.Store) ([]redemption.Redemption, error) { return s.Due(ctx, at, limit) })
}

func (h *inTransactions) CreateOrder(ctx context.Context, o store.Order) (store.Order, bool, error) {
	type result struct {
		order    store.Order
		replayed bool
	}
	r, err := within(ctx, h, func(s *pgxstore.Store) (result, error) {
		order, replayed, err := s.CreateOrder(ctx, o)
		return result{order, replayed}, err
	})
	return r.order, r.replayed, err
}

func (h *inTransactions) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Order, error) { return s.AttachSession(ctx, a) })
}

func (h *inTransactions) Order(ctx context.Context, id string) (store.Order, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Order, error) { return s.Order(ctx, id) })
}

func (h *inTransactions) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	return within(ctx, h, func(s *pgxstore.Store) (store.Order, error) { return s.OrderByKey(ctx, customerID, key) })
}

func (h *inTransactions) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	return within(ctx, h, func(s *pgxstore.Store) ([]store.Order, error) { return s.OpenOrders(ctx, at, limit) })
}

func (h *inTransactions) Close() error { return h.s.Close() }
