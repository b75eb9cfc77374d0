package pgxstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/gates"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// gate is a coupon, what its gate knows of its other counters, and who uses it.
type gate struct {
	*testing.T
	pool   *pgxpool.Pool
	store  *pgxstore.Store
	coupon coupon.Coupon
	quote  pricing.Quote
	next   int // customer
}

func newGate(t *testing.T, limit int64) *gate {
	t.Helper()
	pool := lentDatabase(t)
	g := &gate{
		T: t, pool: pool, store: newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}), quote: quote(t),
		coupon: newCoupon(t, "GATE", func(c *coupon.Coupon) { c.Limits.MaxUses = limit }),
	}
	require.NoError(t, g.store.CreateCoupon(t.Context(), g.coupon))
	return g
}

// limit gives the coupon another limit; 0 is none.
func (g *gate) limit(s *pgxstore.Store, most int64) error {
	changed := g.coupon
	changed.Limits.MaxUses = most
	changed, err := s.UpdateCoupon(g.Context(), changed)
	if err == nil {
		g.coupon = changed
	}
	return err
}

func (g *gate) wantLimit(most int64) {
	g.Helper()
	require.NoError(g, g.limit(g.store, most))
}

// reserve is a use of the next customer.
func (g *gate) reserve(s *pgxstore.Store) (id string, err error) {
	g.next++
	r, err := s.Reserve(g.Context(), checkout(g.coupon, g.quote, fmt.Sprint("customer-", g.next), "key", epoch))
	return r.Redemption.ID, err
}

func (g *gate) wantReserved() (id string) {
	g.Helper()
	id, err := g.reserve(g.store)
	require.NoError(g, err)
	return id
}

// wantReservedElsewhere is wantReserved while somebody has the gate's row, where uses of a
// coupon without a limit are counted otherwise.
func (g *gate) wantReservedElsewhere() (id string) {
	g.Helper()
	require.NoError(g, pgx.BeginFunc(g.Context(), g.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(g.Context(), `SELECT FROM coupon_counters WHERE coupon_id = $1 AND stripe = 0 FOR UPDATE`, g.coupon.ID); err != nil {
			return err
		}
		id = g.wantReserved()
		return nil
	}))
	return id
}

// wantSettled is an event of the redemption's session, and with no ID of one that has none.
func (g *gate) wantSettled(id string, kind redemption.EventKind, overLimit bool) {
	g.Helper()
	s := store.Settlement{
		Event: redemption.Event{Kind: kind, At: epoch, SessionID: "cs_" + id}, ReservationID: id,
		CouponID: g.coupon.ID, CustomerID: "payer", NewID: redemption.IDPrefix + "new",
	}
	if id != "" {
		r, err := g.store.Redemption(g.Context(), id)
		require.NoError(g, err)
		s.Event.OrderID, s.CustomerID = r.OrderID, r.CustomerID
	}
	settled, err := g.store.Settle(g.Context(), s)
	require.NoError(g, err)
	require.Equal(g, overLimit, settled.Redemption.OverLimit)
}

// wantLeft wants so many places, and no use beyond.
func (g *gate) wantLeft(places int) {
	g.Helper()
	for range places {
		g.wantReserved()
	}
	_, err := g.reserve(g.store)
	require.ErrorIs(g, err, coupon.ErrUsageLimitReached)
}

// wantElsewhere wants that the gate knows of so many places at most; nil is that it does not
// know.
func (g *gate) wantElsewhere(want any) {
	g.Helper()
	var got any
	require.NoError(g, g.pool.QueryRow(g.Context(), `SELECT elsewhere FROM coupon_counters WHERE coupon_id = $1 AND stripe = 0`,
		g.coupon.ID).Scan(&got))
	require.Equal(g, want, got)
}

// TestGatesKnowWhatIsCountedElsewhere: whoever looks at the gate of a coupon alone exceeds no
// limit and is refused no place, whenever the coupon got the limit and whatever was given back
// or paid for since.
func TestGatesKnowWhatIsCountedElsewhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit int64
		run   func(*gate)
	}{
		"from its beginning": {limit: 2, run: func(g *gate) {
			g.wantElsewhere(int64(0))
			g.wantLeft(2)
		}},
		"after uses": {run: func(g *gate) {
			g.wantElsewhere(nil)
			used, lost := g.wantReservedElsewhere(), g.wantReservedElsewhere()
			g.wantReserved()
			g.wantSettled(used, redemption.SessionCompleted, false)
			g.wantSettled(lost, redemption.PaymentFailed, false)
			g.wantLimit(4)
			g.wantLeft(2)
		}},
		"after a use that was given back and is paid for later": {run: func(g *gate) {
			lost := g.wantReservedElsewhere()
			g.wantReservedElsewhere()
			g.wantSettled(lost, redemption.PaymentFailed, false)
			g.wantLimit(3)
			g.wantSettled(lost, redemption.SessionCompleted, false)
			g.wantLeft(1)
		}},
		"lifted and set again": {limit: 1, run: func(g *gate) {
			g.wantLeft(1)
			g.wantLimit(0)
			g.wantReservedElsewhere()
			g.wantReservedElsewhere()
			g.wantLimit(5)
			g.wantElsewhere(int64(2))
			g.wantLimit(4)
			g.wantElsewhere(int64(2))
			g.wantLeft(1)
		}},
		"places that are given back": {limit: 2, run: func(g *gate) {
			for range 5 {
				lost := g.wantReserved()
				g.wantSettled(lost, redemption.PaymentFailed, false)
			}
			g.wantElsewhere(int64(0))
			g.wantLeft(2)
			g.wantLimit(3) // is summed up anew
			g.wantElsewhere(int64(-5))
			g.wantLeft(1)
		}},
		"a late payment": {limit: 2, run: func(g *gate) {
			lost := g.wantReserved()
			g.wantSettled(lost, redemption.PaymentFailed, false)
			g.wantSettled(lost, redemption.SessionCompleted, false)
			g.wantLeft(1)
		}},
		"a late payment beyond it": {limit: 1, run: func(g *gate) {
			lost := g.wantReserved()
			g.wantSettled(lost, redemption.PaymentFailed, false)
			g.wantLeft(1)
			g.wantSettled(lost, redemption.SessionCompleted, true)
			g.wantLimit(3)
			g.wantLeft(1)
		}},
		"a payment without a record": {limit: 2, run: func(g *gate) {
			g.wantSettled("", redemption.SessionCompleted, false)
			g.wantLeft(1)
		}},
		"by a statement of the host, while a use is being stored": {run: func(g *gate) {
			g.wantReservedElsewhere() // where it is counted next
			host, err := g.pool.Begin(g.Context())
			require.NoError(g, err)
			_, err = host.Exec(g.Context(), `SELECT FROM coupon_counters WHERE coupon_id = $1 AND stripe = 0 FOR UPDATE`, g.coupon.ID)
			require.NoError(g, err)
			user, err := g.pool.Begin(g.Context())
			require.NoError(g, err)
			_, err = g.reserve(g.store.WithTx(user))
			require.NoError(g, err)
			changed := make(chan error, 1)
			go func() {
				_, err := host.Exec(g.Context(), `UPDATE coupons SET max_uses = 3 WHERE id = $1`, g.coupon.ID)
				changed <- errors.Join(err, host.Commit(g.Context()))
			}()
			(&turns{T: g.T, pool: g.pool}).waitsFor(user, changed)
			require.NoError(g, user.Commit(g.Context()))
			require.NoError(g, <-changed)
			g.wantElsewhere(int64(2))
			g.wantLeft(1)
		}},
		"by a transaction that does not see all uses": {run: func(g *gate) {
			g.wantReservedElsewhere() // where it is counted next
			require.NoError(g, pgx.BeginTxFunc(g.Context(), g.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
				if _, err := tx.Exec(g.Context(), `SELECT FROM coupons`); err != nil { // it sees what is there now
					return err
				}
				g.wantReservedElsewhere()
				return g.limit(g.store.WithTx(tx), 3)
			}))
			g.wantElsewhere(nil)
			g.wantLeft(1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(newGate(t, test.limit))
		})
	}
}

// TestGatesOfBefore: the step that gives gates their knowledge sums up what was counted while
// there was no limit, and by late payments.
func TestGatesOfBefore(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	in := pgxstore.Namespace{Schema: pgxstore.DefaultSchema}
	migratedTo(t, pool, in, 25)
	insert := `INSERT INTO coupons (id, code, name, discount_type, percent_off, currency, applies_to, distribution, max_uses, state,
			search_text, created_at, updated_at, revision)
		SELECT 'cpn_' || code, code, code, 'PERCENTAGE', 10, 'EUR', 'ALL', 'GENERAL', most, 'active', code, now(), now(), 1
		FROM unnest('{more,less,none,unlimited}'::text[], '{10,10,10,NULL}'::bigint[]) AS c (code, most);
	INSERT INTO coupon_counters (coupon_id, completed, reserved)
		VALUES ('cpn_more', 3, -1), ('cpn_more', 2, 0), ('cpn_less', 1, -4), ('cpn_unlimited', 7, 0)`
	_, err := pool.Exec(t.Context(), insert, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
	rows, err := pool.Query(t.Context(), `SELECT coupon_id || ' ' || coalesce(elsewhere::text, 'unknown') FROM coupon_counters
		WHERE stripe = 0 ORDER BY coupon_id`)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"cpn_less -3", "cpn_more 4", "cpn_none 0", "cpn_unlimited unknown"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	require.NoError(t, gates.Check(t.Context(), pool, in.Schema))
	_, err = pool.Exec(t.Context(), `UPDATE coupon_counters SET completed = completed + 1 WHERE coupon_id = 'cpn_less' AND stripe > 0`)
	require.NoError(t, err)
	require.ErrorContains(t, gates.Check(t.Context(), pool, in.Schema), "cpn_less")
}
