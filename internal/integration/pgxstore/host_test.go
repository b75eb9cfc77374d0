package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// What a call within a transaction of the host writes is committed or rolled back with the
// host's own rows. A call that fails there leaves nothing, and the transaction goes on.
func TestWithTx(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	run(t, pool, "CREATE TABLE shipments (order_id text PRIMARY KEY)")
	s := newStore(t, pool, pgxstore.Options{})
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 1}))
	q := quote(t)
	for _, end := range []error{errRollback, nil} {
		before, err := storetest.Read(t.Context(), s)
		require.NoError(t, err)
		require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			within := s.WithTx(tx)
			_, err := within.Reserve(t.Context(), checkout(c, q, "ann", "k"))
			require.NoError(t, err)
			_, err = within.Reserve(t.Context(), checkout(c, q, "bob", "k"))
			require.ErrorIs(t, err, store.ErrLimit)
			settled, err := within.Apply(t.Context(), paid("ord_ann-k"))
			require.NoError(t, err)
			require.Equal(t, redemption.OrderPaid, settled.Order.State)
			_, err = s.Order(t.Context(), store.OrderKey{ID: "ord_ann-k"})
			require.ErrorIs(t, err, store.ErrNotFound, "others do not see what is not committed")
			_, err = tx.Exec(t.Context(), "INSERT INTO shipments VALUES ($1)", settled.Order.ID)
			return errors.Join(err, end)
		}), end)
		after, err := storetest.Read(t.Context(), s)
		require.NoError(t, err)
		var shipped int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM shipments").Scan(&shipped))
		if end != nil {
			require.Equal(t, before, after)
			require.Zero(t, shipped)
			continue
		}
		require.Len(t, after.Orders, 1)
		require.Equal(t, eligibility.Count{Completed: 1}, after.Counters[eligibility.CouponUses(c.ID)])
		require.Equal(t, 1, shipped)
	}
	require.NoError(t, storetest.Check(t.Context(), s))
}

// A host sweeps in its transaction, and dies before it commits. Nothing is lost: the next
// sweep finds the same payment and the same abandoned checkout.
func TestASweepIsCommittedWithTheHost(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	run(t, pool, "CREATE TABLE shipments (order_id text PRIMARY KEY)")
	s := newStore(t, pool, pgxstore.Options{})
	now := at
	clock := func() time.Time { return now }
	fake := fakeprocessor.New(fakeprocessor.Options{Now: clock})
	serve := func(s store.Store) *couponkit.Service {
		service, err := couponkit.New(s, couponkit.WithProcessor(fake), couponkit.WithClock(clock))
		require.NoError(t, err)
		return service
	}
	_, err := serve(s).Create(ctx, coupon.Draft{Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10"})
	require.NoError(t, err)
	buy := func(customer string) couponkit.Checkout {
		bought, err := serve(s).Checkout(ctx, couponkit.CheckoutRequest{
			Codes: []string{"TEN"}, Customer: eligibility.Customer{ID: customer, Email: customer + "@example.org"}, Cart: pricing.Cart{
				Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000}},
			},
		})
		require.NoError(t, err)
		return bought
	}
	bought, abandoned := buy("ann"), buy("bob")
	require.NoError(t, fake.Pay(bought.Session.ID)) // and its event never comes
	now = now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)

	sweep := func(tx pgx.Tx) (shipped []string) {
		report, err := serve(s.WithTx(tx)).Sweep(ctx, 0)
		require.NoError(t, err)
		for _, paid := range report.Paid {
			_, err := tx.Exec(ctx, "INSERT INTO shipments VALUES ($1)", paid.Order.ID)
			require.NoError(t, err)
			shipped = append(shipped, paid.Order.ID)
		}
		require.Len(t, report.Cancelled, len(shipped), "of a paid and an abandoned checkout")
		return shipped
	}
	dying, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = dying.Rollback(ctx) }()
	require.Equal(t, []string{bought.Order.ID}, sweep(dying))
	_, err = dying.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
	require.Error(t, err)
	require.Error(t, dying.Commit(ctx))
	order, err := s.Order(ctx, store.OrderKey{ID: bought.Order.ID})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderOpen, order.Order.State, "nothing is recorded that the host has not committed")
	for _, want := range [][]string{{bought.Order.ID}, nil} {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			require.Equal(t, want, sweep(tx))
			return nil
		}))
	}
	var shipped string
	require.NoError(t, pool.QueryRow(ctx, "SELECT order_id FROM shipments").Scan(&shipped))
	require.Equal(t, bought.Order.ID, shipped)
	released, err := s.Order(ctx, store.OrderKey{ID: abandoned.Order.ID})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, released.Order.State)
	require.NoError(t, storetest.Check(ctx, s))
}

// Open transactions of hosts hold uses of a coupon. Others who use it do not wait for them,
// unless the coupon has a limit over all customers.
func TestUnlimitedCouponsDoNotWait(t *testing.T) {
	t.Parallel()
	const open, beside = 20, 40
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(c *pgxpool.Config) {
		c.MaxConns = open + 4
		c.ConnConfig.RuntimeParams["lock_timeout"] = "500ms"
	})
	s := newStore(t, pool, pgxstore.Options{})
	q := quote(t)
	buy := func(ctx context.Context, s store.Store, c coupon.Coupon, customer string) error {
		r := checkout(c, q, c.ID+customer, "k")
		if _, err := s.Reserve(ctx, r); err != nil {
			return err
		}
		_, err := s.Apply(ctx, paid(r.Order.ID))
		return err
	}
	for name, of := range map[string]struct {
		limits coupon.Limits
		hosts  int
		waits  bool
	}{
		"UNLIMITED": {hosts: open}, "PER-CUSTOMER": {limits: coupon.Limits{MaxUsesPerUser: 2}, hosts: open},
		"LIMITED": {limits: coupon.Limits{MaxUses: 1_000}, hosts: 1, waits: true},
	} {
		ctx := context.WithoutCancel(t.Context())
		c := create(t, s, newCoupon(t, name, of.limits))
		var hosts []pgx.Tx
		for i := range of.hosts {
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			t.Cleanup(func() { _ = tx.Rollback(ctx) })
			hosts = append(hosts, tx)
			require.NoError(t, buy(ctx, s.WithTx(tx), c, fmt.Sprint("host-", i)), name)
		}
		var all errgroup.Group
		for i := range beside {
			all.Go(func() error { return buy(ctx, s, c, fmt.Sprint("beside-", i)) })
		}
		err := all.Wait()
		if of.waits {
			var server *pgconn.PgError
			require.ErrorAs(t, err, &server)
			require.Equal(t, "55P03", server.Code, "lock_not_available")
		} else {
			require.NoError(t, err, name)
			for i := range beside { // one after the other
				require.NoError(t, buy(ctx, s, c, fmt.Sprint("alone-", i)), name)
			}
		}
		for _, tx := range hosts {
			require.NoError(t, tx.Commit(ctx))
		}
	}
	require.NoError(t, storetest.Check(t.Context(), s))
}

// A call of a view whose transaction the host has ended, or is nil, is store.ErrClosed, and changes nothing.
func TestAViewEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	s := newStore(t, pool, pgxstore.Options{})
	require.False(t, s.InTransaction())
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 1}))
	views := []*pgxstore.Store{s.WithTx(nil)}
	for _, end := range []error{errRollback, nil} {
		require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			views = append(views, s.WithTx(tx))
			return end
		}), end)
	}
	for _, view := range views {
		require.True(t, view.InTransaction())
		_, err := view.Reserve(t.Context(), checkout(c, quote(t), "ann", "k"))
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = view.Order(t.Context(), store.OrderKey{ID: "ord_ann-k"})
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = view.Apply(t.Context(), paid("ord_ann-k"))
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = view.Journal(t.Context(), 0, 10)
		require.ErrorIs(t, err, store.ErrClosed)
		require.NoError(t, view.Close())
	}
	after, err := storetest.Read(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, after.Orders)
}
