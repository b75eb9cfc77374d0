package pgxstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// longOrders makes open orders that have documents of so many MiB, and sessions unless these
// are to be attached.
func longOrders(t *testing.T, pool *pgxpool.Pool, s *pgxstore.Store, sessions bool, mebibytes ...int) {
	t.Helper()
	for i, length := range mebibytes {
		o := *checkout(newCoupon(t, "none"), quote(t), fmt.Sprint("c", i), "k", epoch).Order
		o.ID, o.CouponID, o.Coupon, o.ReservationID = fmt.Sprint(store.OrderIDPrefix, i), "", nil, ""
		if sessions {
			o.SessionID = fmt.Sprint("cs_", i)
		}
		_, _, err := s.CreateOrder(t.Context(), o)
		require.NoError(t, err)
		// What PostgreSQL cannot make shorter, quickly.
		_, err = pool.Exec(t.Context(), `ALTER TABLE orders ALTER metadata SET STORAGE EXTERNAL`)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `UPDATE orders SET metadata = jsonb_build_object('long', repeat('x', $2::integer * 1024 * 1024)) WHERE id = $1`, o.ID, length)
		require.NoError(t, err)
	}
}

// TestAnswersOfBatchesAreBounded: a batch answers with documents of 16 MiB at most, the
// shortest of them; the calls about others are left alone, and made so.
func TestAnswersOfBatchesAreBounded(t *testing.T) {
	t.Parallel()
	mebibytes := []int{7, 0, 20, 6, 8, 1}
	for name, test := range map[string]struct {
		attach    bool
		statement string
		call      func(s *pgxstore.Store, i int) error
	}{
		"settlements": {
			statement: `SELECT n FROM couponkit_settle_batch(
				array_fill('session completed'::text, ARRAY[6]), array_fill(now(), ARRAY[6]), ARRAY(SELECT 'cs_' || i FROM generate_series(0, 5) i),
				array_fill(''::text, ARRAY[6]), array_fill(NULL::timestamptz, ARRAY[6]), array_fill(''::text, ARRAY[6]), array_fill(''::text, ARRAY[6]))
				WHERE problem = 'alone' ORDER BY n`,
			call: func(s *pgxstore.Store, i int) error {
				settled, err := s.Settle(t.Context(), store.Settlement{Event: redemption.Event{
					Kind: redemption.SessionCompleted, At: epoch, SessionID: fmt.Sprint("cs_", i),
				}})
				if err == nil && (settled.Order.State != store.OrderPaid || len(settled.Order.Metadata["long"]) != mebibytes[i]<<20) {
					return fmt.Errorf("order %d is %s, with %d bytes", i, settled.Order.State, len(settled.Order.Metadata["long"]))
				}
				return err
			},
		},
		"sessions": {
			attach: true,
			statement: `SELECT n FROM couponkit_attach_batch(
				ARRAY(SELECT 'ord_' || i FROM generate_series(0, 5) i), ARRAY(SELECT 'cs_' || i FROM generate_series(0, 5) i),
				array_fill(''::text, ARRAY[6]), array_fill(now(), ARRAY[6]), array_fill(now(), ARRAY[6]))
				WHERE outcome = 'alone' ORDER BY n`,
			call: func(s *pgxstore.Store, i int) error {
				o, err := s.AttachSession(t.Context(), store.Attachment{
					OrderID: fmt.Sprint(store.OrderIDPrefix, i), SessionID: fmt.Sprint("cs_", i), Deadline: epoch.Add(time.Hour), At: epoch,
				})
				if err == nil && len(o.Metadata["long"]) != mebibytes[i]<<20 {
					return fmt.Errorf("order %d has %d bytes", i, len(o.Metadata["long"]))
				}
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newDatabase(t, pgxstore.Namespace{})
			s := newStore(t, pool, pgxstore.Options{})
			longOrders(t, pool, s, !test.attach, mebibytes...)
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			rows, err := tx.Query(t.Context(), test.statement)
			require.NoError(t, err)
			alone, err := pgx.CollectRows(rows, pgx.RowTo[int])
			require.NoError(t, err)
			require.NoError(t, tx.Rollback(t.Context()))
			if diff := cmp.Diff([]int{3, 5}, alone); diff != "" {
				t.Errorf("left alone, of %d MiB (-want +got):\n%s", mebibytes, diff)
			}
			var all errgroup.Group
			for i := range mebibytes {
				all.Go(func() error { return test.call(s, i) })
			}
			require.NoError(t, all.Wait())
		})
	}
}

// TestOrdersOfOneInstant: of several orders that have a session and were changed at one
// instant, a payment is that of the newest, alone and in a batch, whichever was stored first.
func TestOrdersOfOneInstant(t *testing.T) {
	t.Parallel()
	pool := lentDatabase(t)
	s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}})
	for session, newest := range map[string][]bool{"newest_first": {true, false}, "newest_last": {false, true}} {
		for i, is := range newest {
			o := *checkout(newCoupon(t, "none"), quote(t), session, fmt.Sprint("k", i), epoch).Order
			o.CouponID, o.Coupon, o.ReservationID, o.SessionID = "", nil, "", session
			o.ID, o.CreatedAt, o.UpdatedAt = fmt.Sprint(store.OrderIDPrefix, session, is), epoch, epoch.Add(time.Minute)
			if is {
				o.CreatedAt = epoch.Add(time.Second)
			}
			_, _, err := s.CreateOrder(t.Context(), o)
			require.NoError(t, err)
		}
		want := fmt.Sprint(store.OrderIDPrefix, session, true)
		var joined string
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT (ordered).id FROM couponkit_settle_batch(
			ARRAY['session completed unpaid'], ARRAY[now()], ARRAY[$1], ARRAY[''], ARRAY[NULL::timestamptz], ARRAY[''], ARRAY[''])`,
			session).Scan(&joined))
		if joined != want {
			t.Errorf("%s: a batch has %s", session, joined)
		}
	}
	for _, session := range []string{"newest_first", "newest_last"} {
		_, err := pool.Exec(t.Context(), `UPDATE orders SET state = 'open', updated_at = '2026-11-21'`)
		require.NoError(t, err)
		settled, err := s.Settle(t.Context(), store.Settlement{Event: redemption.Event{
			Kind: redemption.SessionCompleted, At: epoch, SessionID: session,
		}})
		require.NoError(t, err)
		if want := fmt.Sprint(store.OrderIDPrefix, session, true); settled.Order.ID != want {
			t.Errorf("%s: a payment alone has %s", session, settled.Order.ID)
		}
	}
}

// TestASessionOfAnotherIsNamed: who attaches a session that another redemption has is told which
// one it is, however the call is carried out.
func TestASessionOfAnotherIsNamed(t *testing.T) {
	t.Parallel()
	pool := lentDatabase(t)
	for name, options := range map[string]pgxstore.Options{"batched": {}, "alone": {Batch: pgxstore.BatchOptions{Off: true}}} {
		s := newStore(t, pool, options)
		c := newCoupon(t, name)
		require.NoError(t, s.CreateCoupon(t.Context(), c))
		attach := func(customer string) error {
			kept, err := s.Reserve(t.Context(), checkout(c, quote(t), customer, name, epoch))
			require.NoError(t, err)
			_, err = s.AttachSession(t.Context(), store.Attachment{
				OrderID: kept.Order.ID, SessionID: "cs_" + name, SessionURL: "https://pay.example/", Deadline: epoch.Add(time.Hour), At: epoch,
			})
			return err
		}
		require.NoError(t, attach("ann"))
		err := attach("bob")
		require.ErrorIs(t, err, store.ErrSuperseded)
		require.ErrorContains(t, err, "session cs_"+name+" is that of another redemption")
	}
}
