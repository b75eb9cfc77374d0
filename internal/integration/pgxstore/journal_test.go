package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var errRollback = errors.New("the host rolls back")

// Two readers poll while hundreds of transactions commit in another order than they began,
// from three processes' worth of stores. Some are rolled back, and of some the connection is
// killed. No reader misses an entry or sees one twice, and both see the same.
func TestJournalReaders(t *testing.T) {
	t.Parallel()
	const writers, each = 12, 20
	dsn := shared.NewCopy(t)
	var stores []*pgxstore.Store
	pool := postgrestest.NewPool(t, dsn)
	for range 3 {
		stores = append(stores, newStore(t, postgrestest.NewPool(t, dsn), pgxstore.Options{}))
	}
	c := create(t, stores[0], newCoupon(t, "TEN", coupon.Limits{}))
	q := quote(t)
	done := make(chan struct{})
	var readers, writing errgroup.Group
	seen := make([][]store.Entry, 2)
	for i := range seen {
		readers.Go(func() (err error) {
			seen[i], err = storetest.Follow(t.Context(), stores[i], 7, done)
			return err
		})
	}
	for w := range writers {
		writing.Go(func() error {
			s := stores[w%len(stores)]
			for n := range each {
				customer := fmt.Sprint("customer-", w)
				r := checkout(c, q, customer, fmt.Sprint(n))
				err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
					if _, err := s.WithTx(tx).Reserve(t.Context(), r); err != nil {
						return err
					}
					time.Sleep(rand.N(3 * time.Millisecond)) // others commit meanwhile
					switch n % 5 {
					case 3:
						return errRollback
					case 4:
						_, err := tx.Exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
						return errors.Join(errRollback, err)
					}
					return nil
				})
				switch {
				case err == nil:
					_, err = s.Apply(t.Context(), paid(r.Order.ID))
				case errors.Is(err, errRollback):
					err = nil
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, writing.Wait())
	close(done)
	require.NoError(t, readers.Wait())
	require.Equal(t, seen[0], seen[1])
	require.Len(t, seen[0], 1+writers*each*3/5*2)
	versions := map[string]int64{}
	for i, e := range seen[0] {
		require.Equal(t, int64(i+1), e.Position)
		require.Equal(t, versions[e.Subject]+1, e.Version, "entries of one subject keep their order")
		versions[e.Subject] = e.Version
	}
	require.NoError(t, storetest.Check(t.Context(), stores[0]))
}

// An entry of a transaction that began first and commits last is read after the others, and
// is not missed.
func TestJournalOfALateCommit(t *testing.T) {
	t.Parallel()
	dsn := shared.NewCopy(t)
	pool := postgrestest.NewPool(t, dsn)
	s := newStore(t, pool, pgxstore.Options{})
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{}))
	q := quote(t)
	ctx := context.WithoutCancel(t.Context())
	early, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = s.WithTx(early).Reserve(ctx, checkout(c, q, "early", "k"))
	require.NoError(t, err)
	_, err = s.Reserve(ctx, checkout(c, q, "late", "k"))
	require.NoError(t, err)
	first, err := s.Journal(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, first, 2)
	require.NoError(t, early.Commit(ctx))
	rest, err := s.Journal(ctx, first[1].Position, 10)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, "ord_early-k", rest[0].Subject)
}
