package pgxstore_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// databases remembers the database of each store, so that another is opened on it.
type databases struct{ of sync.Map }

func (d *databases) open(tb testing.TB, dsn string, wrap func(*pgxstore.Store, *pgxpool.Pool) store.Store, configure ...func(*pgxpool.Config)) store.Store {
	tb.Helper()
	pool := postgrestest.NewPool(tb, dsn, configure...)
	s := wrap(newStore(tb, pool, pgxstore.Options{}), pool)
	d.of.Store(s, dsn)
	return s
}

func suite(t *testing.T, wrap func(*pgxstore.Store, *pgxpool.Pool) store.Store, configure ...func(*pgxpool.Config)) {
	t.Helper()
	var d databases
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return d.open(t, shared.Lend(t), wrap, configure...)
	}, storetest.Capabilities{Reopen: func(t *testing.T, s store.Store) store.Store {
		t.Helper()
		dsn, _ := d.of.Load(s)
		return d.open(t, dsn.(string), wrap, configure...)
	}, Damage: func(t *testing.T, s store.Store, kind, id string) func() {
		t.Helper()
		dsn, _ := d.of.Load(s)
		return damage(t, postgrestest.NewPool(t, dsn.(string)), kind, id)
	}, Miscount: func(t *testing.T, s store.Store, counter string, by eligibility.Count) {
		t.Helper()
		dsn, _ := d.of.Load(s)
		_, err := postgrestest.NewPool(t, dsn.(string)).Exec(t.Context(), `INSERT INTO couponkit.counters AS c (counter, part, reserved, completed) VALUES ($1, 0, $2, $3)
			ON CONFLICT (counter, part) DO UPDATE SET reserved = c.reserved + excluded.reserved, completed = c.completed + excluded.completed`,
			counter, by.Reserved, by.Completed)
		require.NoError(t, err)
	}})
}

// damage replaces the document of a record by text that is not JSON.
func damage(t *testing.T, pool *pgxpool.Pool, kind, id string) (restore func()) {
	t.Helper()
	table := "couponkit." + kind + "s"
	var document string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT doc FROM "+table+" WHERE id = $1", id).Scan(&document))
	write := func(text string) {
		_, err := pool.Exec(t.Context(), "UPDATE "+table+" SET doc = $1 WHERE id = $2", text, id)
		require.NoError(t, err)
	}
	write("{")
	return func() { write(document) }
}

func asItIs(s *pgxstore.Store, _ *pgxpool.Pool) store.Store { return s }

func inTransactions(s *pgxstore.Store, pool *pgxpool.Pool) store.Store {
	return &transactions{Store: s, pool: pool}
}

func TestContract(t *testing.T) {
	t.Parallel()
	suite(t, asItIs)
}

func TestContractInTransactionsOfTheHost(t *testing.T) {
	t.Parallel()
	suite(t, inTransactions)
}

func TestContractWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	suite(t, asItIs, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec })
}

// Random histories end as in memory.
func TestAgreesWithMemory(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	storetest.Agree(t, func(t *testing.T) store.Store {
		t.Helper()
		return newEmptyStore(t, pool)
	}, func(*testing.T) store.Store { return memstore.New() })
}

// newEmptyStore returns a store on a database that is emptied.
func newEmptyStore(t *testing.T, pool *pgxpool.Pool) *pgxstore.Store {
	t.Helper()
	_, err := pool.Exec(t.Context(), emptying, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return newStore(t, pool, pgxstore.Options{})
}

// transactions runs each call in a transaction of the host, which is committed after an error
// too: the call has left nothing in it.
type transactions struct {
	*pgxstore.Store

	pool *pgxpool.Pool
}

func within[A any](ctx context.Context, s *transactions, call func(*pgxstore.Store) (A, error)) (answer A, err error) {
	for range 100 {
		tx, failed := s.pool.Begin(ctx)
		if failed != nil {
			return answer, failed
		}
		if answer, err = call(s.WithTx(tx)); pgxstore.Retryable(err) {
			_ = tx.Rollback(ctx)
			continue
		}
		if failed := tx.Commit(ctx); failed != nil && err == nil {
			return answer, failed
		}
		return answer, err
	}
	return answer, err
}

func (s *transactions) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return within(ctx, s, func(s *pgxstore.Store) (coupon.Coupon, error) { return s.SaveCoupon(ctx, c) })
}

func (s *transactions) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	return within(ctx, s, func(s *pgxstore.Store) ([]coupon.IssuedCode, error) { return s.SaveCodes(ctx, c) })
}

func (s *transactions) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.CodePage, error) { return s.ListCodes(ctx, list) })
}

func (s *transactions) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.LookedUp, error) { return s.LookUp(ctx, by) })
}

func (s *transactions) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.CouponPage, error) { return s.ListCoupons(ctx, list) })
}

func (s *transactions) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.Reserved, error) { return s.Reserve(ctx, r) })
}

func (s *transactions) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.Settled, error) { return s.Apply(ctx, e) })
}

func (s *transactions) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.Settled, error) { return s.Order(ctx, by) })
}

func (s *transactions) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.OrderPage, error) { return s.ListOrders(ctx, list) })
}

func (s *transactions) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return within(ctx, s, func(s *pgxstore.Store) (store.UsePage, error) { return s.ListUses(ctx, list) })
}

func (s *transactions) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	return within(ctx, s, func(s *pgxstore.Store) ([]eligibility.Count, error) { return s.Counts(ctx, keys) })
}

func (s *transactions) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return within(ctx, s, func(s *pgxstore.Store) ([]store.Entry, error) { return s.Journal(ctx, after, limit) })
}

func (s *transactions) JournalEnd(ctx context.Context) (int64, error) {
	return within(ctx, s, func(s *pgxstore.Store) (int64, error) { return s.JournalEnd(ctx) })
}

func (s *transactions) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	return within(ctx, s, func(s *pgxstore.Store) ([]store.DaySum, error) { return s.Sums(ctx, list) })
}

func (s *transactions) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	return within(ctx, s, func(s *pgxstore.Store) ([]store.Entry, error) { return s.History(ctx, couponID, before, limit) })
}
