package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestTheRefusedWaitForNobody: reservations of a coupon that is used up or switched off are
// refused without their turn at its gate and without a write, alone, in a batch of their own
// and in one with others, which are stored.
func TestTheRefusedWaitForNobody(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]coupon.RejectionCode{"used up": coupon.UsageLimitReached, "switched off": coupon.CouponInactive} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := shared.NewCopy(t)
			var wire conversation
			var batches batchSizes
			var asked claimCalls
			pool := wire.on(t, dsn, func(c *pgxpool.Config) {
				c.ConnConfig.RuntimeParams["lock_timeout"] = "10s" // for those who wait after all
				c.ConnConfig.Tracer = &asked
			})
			s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{OnBatch: batches.note}})
			refused := newCoupon(t, "refused", func(c *coupon.Coupon) { c.Limits.MaxUses = 1 })
			other := newCoupon(t, "other", func(c *coupon.Coupon) { c.Limits.MaxUses = 1_000 })
			require.NoError(t, errors.Join(s.CreateCoupon(t.Context(), refused), s.CreateCoupon(t.Context(), other)))
			_, err := s.Reserve(t.Context(), checkout(refused, quote(t), "first", "k", epoch))
			require.NoError(t, err)
			if code == coupon.CouponInactive {
				now, err := s.Coupon(t.Context(), refused.ID)
				require.NoError(t, err)
				now.State, now.Limits.MaxUses = coupon.Inactive, 1_000
				_, err = s.UpdateCoupon(t.Context(), now)
				require.NoError(t, err)
			}
			batches.take(t, 1)
			asked.take()
			_, err = pool.Exec(t.Context(), `
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a write of the refused'; END $$;
				CREATE TRIGGER refuse BEFORE INSERT ON coupon_redemptions FOR EACH ROW WHEN (new.coupon_id = 'cpn_refused') EXECUTE FUNCTION refuse()`)
			require.NoError(t, err)

			tx, err := postgrestest.NewPool(t, dsn).Begin(t.Context())
			require.NoError(t, err)
			tag, err := tx.Exec(t.Context(), `SELECT FROM coupon_counters WHERE coupon_id = $1 FOR UPDATE`, refused.ID)
			require.NoError(t, err)
			require.EqualValues(t, 1, tag.RowsAffected())
			defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()

			for i, others := range []int{0, 8, 0, 8} { // expected or not
				customers := make([]*traveller, 1+15*min(i, 1))
				for n := range customers {
					customers[n] = &traveller{coupon: refused, quote: quote(t), name: fmt.Sprint(i, "-", n)}
					if n < others {
						customers[n].coupon = other
					}
				}
				wire.together(t, pool, customers, func(w *traveller) error {
					_, err := s.Reserve(t.Context(), checkout(w.coupon, w.quote, w.name, "k", epoch))
					rejection := (*coupon.Rejection)(nil)
					if w.coupon.ID == refused.ID && errors.As(err, &rejection) && rejection.Has(code) {
						return nil
					}
					return err
				})
				sizes := batches.take(t, len(customers))
				require.Equal(t, len(sizes), asked.calls(), "none is run again")
			}
		})
	}
}

// TestWhatOthersHaveIsRefused: who comes alone with an ID or a session of another redemption is
// refused, has nothing and can go on, also within the transaction of a host.
func TestWhatOthersHaveIsRefused(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]bool{"with group commit": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := lentDatabase(t)
			s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: off}})
			c, q := newCoupon(t, "limited", func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1} }), quote(t)
			require.NoError(t, s.CreateCoupon(t.Context(), c))
			first := checkout(c, q, "ann", "k", epoch)
			first.Redemption.SessionID, first.Order.SessionID = "cs_1", "cs_1"
			_, err := s.Reserve(t.Context(), first)
			require.NoError(t, err)

			sameID, sameSession := checkout(c, q, "bob", "k", epoch), checkout(c, q, "carl", "k", epoch)
			sameID.Redemption.ID, sameID.Order.ReservationID = first.Redemption.ID, first.Redemption.ID
			sameSession.Redemption.SessionID, sameSession.Order.SessionID = "cs_1", "cs_1"
			refused := func(in store.Store) {
				_, err := in.Reserve(t.Context(), sameID)
				require.ErrorIs(t, err, store.ErrConflict)
				require.NotErrorIs(t, err, store.ErrSuperseded)
				_, err = in.Reserve(t.Context(), sameSession)
				require.ErrorIs(t, err, store.ErrSuperseded)
			}
			refused(s)
			require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				in := s.WithTx(tx)
				refused(in)
				_, err := in.Reserve(t.Context(), checkout(c, q, "dora", "k", epoch))
				return err
			}))
			got, err := s.Coupon(t.Context(), c.ID)
			require.NoError(t, err)
			require.Equal(t, int64(2), got.ReservedCount)
		})
	}
}
