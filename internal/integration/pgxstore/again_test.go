package pgxstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// A coupon is made, under an ID that a deleted one had, while a payment for that one is
// recorded. Whichever is first, the other one knows of it: there is no coupon with a
// redemption that it does not count.
func TestAnIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	c := newCoupon(t, "again")
	pay := func(ctx context.Context, s *pgxstore.Store) error {
		_, err := s.Settle(ctx, store.Settlement{
			Event:    redemption.Event{Kind: redemption.SessionCompleted, At: epoch, SessionID: "cs_late"},
			CouponID: c.ID, CustomerID: "ann", NewID: redemption.IDPrefix + "late",
		})
		return err
	}
	create := func(ctx context.Context, s *pgxstore.Store) error { return s.CreateCoupon(ctx, c) }
	for name, test := range map[string]struct {
		first, second func(context.Context, *pgxstore.Store) error
		want          error
		used          int64
	}{
		"paid first":    {first: pay, second: create, want: store.ErrConflict},
		"created first": {first: create, second: pay, used: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := lentDatabase(t)
			s := newStore(t, pool, pgxstore.Options{})
			ended := make(chan error, 1)
			require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				if err := test.first(t.Context(), s.WithTx(tx)); err != nil {
					return err
				}
				go func() { ended <- test.second(t.Context(), s) }()
				return untilWaiting(t.Context(), pool, ended)
			}))
			if err := <-ended; !errors.Is(err, test.want) {
				t.Errorf("the second is told %v, want %v", err, test.want)
			}
			if err := storetest.CheckInvariants(t.Context(), s); err != nil {
				t.Error(err)
			}
			if got, err := s.Coupon(t.Context(), c.ID); test.want == nil && (err != nil || got.UsedCount != test.used) {
				t.Errorf("the coupon counts %d uses, want %d; %v", got.UsedCount, test.used, err)
			}
		})
	}
}

// untilWaiting returns when a call waits for a table or an advisory lock in the database, or
// has ended.
func untilWaiting(ctx context.Context, pool *pgxpool.Pool, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for waiting := false; !waiting && len(ended) == 0; time.Sleep(time.Millisecond) {
		if err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.datname = current_database()
			WHERE NOT l.granted AND l.database = d.oid)`).Scan(&waiting); err != nil {
			return err
		}
	}
	return nil
}
