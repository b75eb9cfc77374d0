package pgxstore_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// lastPlace is how others take the only place of a coupon after a transaction of the host
// has begun to read, and what they did before.
type lastPlace struct {
	limits coupon.Limits
	before func(*levels) error
	take   func(*levels) error
}

var lastPlaces = map[string]lastPlace{
	"a reservation":            {limits: coupon.Limits{MaxUses: 1}, take: func(w *levels) error { return w.reserve(w.ann) }},
	"a payment":                {limits: coupon.Limits{MaxUses: 1}, take: func(w *levels) error { return w.pay(w.s, w.ann, "first") }},
	"a late payment":           {limits: coupon.Limits{MaxUses: 1}, before: (*levels).lose, take: (*levels).payLate},
	"all of a late payment":    {limits: coupon.Limits{MaxUses: 1}, take: (*levels).loseAndPayLate},
	"the customer himself":     {limits: coupon.Limits{MaxUsesPerUser: 1}, take: func(w *levels) error { return w.reserve(w.bob) }},
	"a payment of the same":    {limits: coupon.Limits{MaxUsesPerUser: 1}, take: func(w *levels) error { return w.pay(w.s, w.bob, "first") }},
	"another, of one for each": {limits: coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}, before: (*levels).lose, take: (*levels).payLate},
	"a reservation, under a first limit": {take: func(w *levels) error {
		return errors.Join(w.limit(), w.reserve(w.ann))
	}},
	"a late payment, under a first limit": {before: (*levels).lose, take: func(w *levels) error {
		return errors.Join(w.limit(), w.payLate())
	}},
}

// TestAStricterLevelKeepsTheLimit: a transaction of the host that has begun to read before
// others took the last place gives it to nobody else, at any level. At a stricter one than
// READ COMMITTED PostgreSQL asks the host to run it again, or the two uses of one customer
// are the conflict that they are.
func TestAStricterLevelKeepsTheLimit(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			pool := newDatabase(t, pgxstore.Namespace{})
			s := newStore(t, pool, pgxstore.Options{})
			for by, last := range lastPlaces {
				t.Run(by, func(t *testing.T) { newLevels(t, pool, s, last).check(level, last.take) })
			}
		})
	}
}

// levels is a coupon of which there is one use, and a host with transactions of its own.
type levels struct {
	*testing.T
	pool     *pgxpool.Pool
	s        *pgxstore.Store
	coupon   coupon.Coupon
	ann, bob string // nobody of another coupon
	quote    pricing.Quote
}

func newLevels(t *testing.T, pool *pgxpool.Pool, s *pgxstore.Store, last lastPlace) *levels {
	t.Helper()
	id := strings.ToLower(rand.Text())
	w := &levels{T: t, pool: pool, s: s, ann: "ann-" + id, bob: "bob-" + id, quote: quote(t)}
	w.coupon = newCoupon(t, id, func(c *coupon.Coupon) { c.Limits = last.limits })
	require.NoError(t, s.CreateCoupon(t.Context(), w.coupon))
	if last.before != nil {
		require.NoError(t, last.before(w))
	}
	return w
}

// check lets a host reserve and settle too late, each in a transaction of its own, and wants
// no more than one use within the limit.
func (w *levels) check(level pgx.TxIsoLevel, take func(*levels) error) {
	w.Helper()
	reserving, settling := w.begin(level), w.begin(level)
	require.NoError(w, take(w))

	_, err := w.s.WithTx(reserving).Reserve(w.Context(), checkout(w.coupon, w.quote, w.bob, "late", epoch))
	if rejection := (*coupon.Rejection)(nil); errors.As(err, &rejection) {
		err = nil // as it should be
	}
	w.end(level, reserving, err)
	w.end(level, settling, w.pay(w.s.WithTx(settling), w.bob, "late"))
	var within int
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT count(*) FROM coupon_redemptions
		WHERE coupon_id = $1 AND state <> 'released' AND NOT over_limit`, w.coupon.ID).Scan(&within))
	require.Equal(w, 1, within)
}

// begin returns a transaction that has read.
func (w *levels) begin(level pgx.TxIsoLevel) pgx.Tx {
	w.Helper()
	tx, err := w.pool.BeginTx(w.Context(), pgx.TxOptions{IsoLevel: level})
	require.NoError(w, err)
	_, err = tx.Exec(w.Context(), `SELECT count(*) FROM orders`)
	require.NoError(w, err)
	return tx
}

// end commits a transaction in which nothing failed. At a stricter level something must.
func (w *levels) end(level pgx.TxIsoLevel, tx pgx.Tx, err error) {
	w.Helper()
	if err != nil {
		require.NoError(w, tx.Rollback(w.Context()))
	} else {
		err = tx.Commit(w.Context())
	}
	if level == pgx.ReadCommitted {
		require.NoError(w, err)
		return
	}
	require.True(w, again(err) || errors.Is(err, store.ErrConflict), "%v", err)
}

// limit gives the coupon its first limit.
func (w *levels) limit() error {
	c := w.coupon
	c.Limits.MaxUses = 1
	_, err := w.s.UpdateCoupon(w.Context(), c)
	return err
}

func (w *levels) reserve(customer string) error {
	_, err := w.s.Reserve(w.Context(), checkout(w.coupon, w.quote, customer, "k", epoch))
	return err
}

// lose lets ann reserve the use and give it back.
func (w *levels) lose() error {
	if err := w.reserve(w.ann); err != nil {
		return err
	}
	_, err := w.s.Transition(w.Context(), redemption.IDPrefix+w.ann+"-k", redemption.Event{Kind: redemption.Lapsed, At: epoch.Add(2 * time.Hour)})
	return err
}

// payLate is the payment of what was given back.
func (w *levels) payLate() error {
	_, err := w.s.Settle(w.Context(), store.Settlement{
		Event:         redemption.Event{Kind: redemption.SessionCompleted, At: epoch.Add(3 * time.Hour), SessionID: "cs_" + w.ann, OrderID: store.OrderIDPrefix + w.ann + "-k"},
		ReservationID: redemption.IDPrefix + w.ann + "-k",
	})
	return err
}

func (w *levels) loseAndPayLate() error { return errors.Join(w.lose(), w.payLate()) }

// pay is a payment without a record.
func (w *levels) pay(s *pgxstore.Store, customer, name string) error {
	id := name + "-" + customer
	_, err := s.Settle(w.Context(), store.Settlement{
		Event:    redemption.Event{Kind: redemption.SessionCompleted, At: epoch, SessionID: "cs_" + id},
		CouponID: w.coupon.ID, CustomerID: customer, NewID: id,
	})
	return err
}
