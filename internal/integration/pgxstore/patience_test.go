package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestLockTimeout: who waits for a coupon that a transaction of a host holds is refused as
// soon as the role's lock_timeout is over, however many wait: it is not spent on every part of
// their batch, one after the other, until the batch itself is out of time. Others, about
// another coupon, get their places.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	const callers = 64
	pool := newDatabase(t, pgxstore.Namespace{}, func(c *pgxpool.Config) {
		c.MaxConns = 8
		c.ConnConfig.RuntimeParams["lock_timeout"] = "500ms"
	})
	s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Timeout: 10 * time.Second}})
	limited := func(c *coupon.Coupon) { c.Limits.MaxUses = 1000 }
	held, free := newCoupon(t, "HELD", limited), newCoupon(t, "FREE", limited)
	require.NoError(t, s.CreateCoupon(t.Context(), held))
	require.NoError(t, s.CreateCoupon(t.Context(), free))
	q := quote(t)
	host, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Rollback(context.WithoutCancel(t.Context()))) }()
	_, err = s.WithTx(host).Reserve(t.Context(), checkout(held, q, "host", "k", epoch))
	require.NoError(t, err)

	refused, placed := make(chan error, callers), make(chan error, callers)
	reserve := func(c coupon.Coupon, customer int, answers chan<- error) {
		_, err := s.Reserve(t.Context(), checkout(c, q, fmt.Sprint(c.ID, customer), "k", epoch))
		answers <- err
	}
	for customer := range callers {
		go reserve(held, customer, refused)
		go reserve(free, customer, placed)
	}
	for range callers {
		var server *pgconn.PgError
		if err := <-refused; !errors.As(err, &server) || server.Code != "55P03" {
			t.Errorf("a reservation of the coupon that is held: %v, want lock_not_available", err)
		}
		if err := <-placed; err != nil {
			t.Errorf("a reservation of the other coupon: %v", err)
		}
	}
}
