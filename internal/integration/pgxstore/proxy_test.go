package pgxstore_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// Three processes' worth of stores use a coupon up at once: two behind a proxy that
// pools transactions, with and without group commit, and one on the server itself.
// Exactly as many places are given out as there are.
func TestExhaustionBehindAProxy(t *testing.T) {
	t.Parallel()
	const wanted, allowed, callers, connections = 1_500, 500, 64, 4
	server := shared.Need(t)
	dsn := shared.NewCopy(t)
	behind := server.NewProxy(t, connections).Through(t, dsn)
	direct := postgrestest.NewPool(t, dsn)
	many := func(c *pgxpool.Config) { c.MaxConns = 32 }
	stores := []*pgxstore.Store{
		newStore(t, postgrestest.NewPool(t, behind, many), pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec}),
		newStore(t, postgrestest.NewPool(t, behind, many), pgxstore.Options{
			QueryExecMode: pgx.QueryExecModeExec, Batch: pgxstore.BatchOptions{Off: true},
		}),
		newStore(t, direct, pgxstore.Options{}),
	}
	c := newCoupon(t, "LAST", func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: allowed, MaxUsesPerUser: 1} })
	if err := stores[0].CreateCoupon(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	cost := quote(t)
	var next, placed, refused atomic.Int64
	var group errgroup.Group
	for caller := range callers {
		group.Go(func() error {
			for {
				n := next.Add(1)
				if n > wanted {
					return nil
				}
				_, err := stores[caller%len(stores)].Reserve(t.Context(), checkout(c, cost, fmt.Sprint("customer-", n), "k", epoch))
				switch {
				case err == nil:
					placed.Add(1)
				case errors.Is(err, coupon.ErrUsageLimitReached):
					refused.Add(1)
				default:
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if placed.Load() != allowed || refused.Load() != wanted-allowed {
		t.Errorf("%d places were given out and %d refused, want %d and %d", placed.Load(), refused.Load(), allowed, wanted-allowed)
	}
	if err := storetest.CheckInvariants(t.Context(), stores[0]); err != nil {
		t.Error(err)
	}
}

// Behind the proxy there are no more sessions on the server than it was told, however
// many clients there are, and a transaction of the host sees its own writes.
func TestTransactionsBehindAProxy(t *testing.T) {
	t.Parallel()
	const connections = 3
	server := shared.Need(t)
	dsn := server.NewDatabase(t)
	behind := postgrestest.NewPool(t, server.NewProxy(t, connections).Through(t, dsn), func(c *pgxpool.Config) { c.MaxConns = 16 })
	if err := pgxstore.Migrate(t.Context(), behind, pgxstore.Namespace{}); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, behind, pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec})
	c := newCoupon(t, "MANY")
	if err := s.CreateCoupon(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	cost := quote(t)
	var group errgroup.Group
	for client := range 16 {
		group.Go(func() error {
			for n := range 10 {
				err := pgx.BeginFunc(t.Context(), behind, func(tx pgx.Tx) error {
					within := s.WithTx(tx)
					kept, err := within.Reserve(t.Context(), checkout(c, cost, fmt.Sprint("customer-", client), fmt.Sprint(n), epoch))
					if err != nil {
						return err
					}
					if _, err := within.Redemption(t.Context(), kept.Redemption.ID); err != nil {
						return err
					}
					_, err = within.AttachSession(t.Context(), store.Attachment{
						OrderID: kept.Order.ID, SessionID: "cs_" + kept.Order.ID, Deadline: epoch.Add(time.Hour), At: epoch,
					})
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var sessions int
	err := postgrestest.NewPool(t, dsn).QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&sessions)
	if err != nil || sessions > connections {
		t.Errorf("%d sessions on the server, want at most %d; %v", sessions, connections, err)
	}
	found, err := s.Coupon(t.Context(), c.ID)
	if err != nil || found.ReservedCount != 160 {
		t.Errorf("%d places are kept, want 160; %v", found.ReservedCount, err)
	}
}
