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

var (
	once     = coupon.Limits{MaxUses: 1}
	onceEach = coupon.Limits{MaxUsesPerUser: 1}
)

var lastPlaces = map[string]lastPlace{
	"a reservation":            {limits: once, take: func(w *levels) error { return w.reserve(w.ann, "k") }},
	"a payment":                {limits: once, take: func(w *levels) error { return w.pay(w.s, w.ann, "first") }},
	"a late payment":           {limits: once, before: annLoses, take: annPaysLate},
	"all of a late payment":    {limits: once, take: func(w *levels) error { return errors.Join(annLoses(w), annPaysLate(w)) }},
	"the same customer":        {limits: onceEach, take: func(w *levels) error { return w.reserve(w.bob, "k") }},
	"a payment of the same":    {limits: onceEach, take: func(w *levels) error { return w.pay(w.s, w.bob, "first") }},
	"late, of the same":        {limits: onceEach, before: bobLoses, take: bobPaysLate},
	"all of it, of the same":   {limits: onceEach, take: func(w *levels) error { return errors.Join(bobLoses(w), bobPaysLate(w)) }},
	"the same, after another":  {limits: onceEach, take: func(w *levels) error { return errors.Join(bobLoses(w), w.lose(w.bob, "also"), bobPaysLate(w)) }},
	"another, of one for each": {limits: coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}, before: annLoses, take: annPaysLate},
	"a reservation, under a first limit": {take: func(w *levels) error {
		return errors.Join(w.limit(), w.reserve(w.ann, "k"))
	}},
	"a late payment, under a first limit": {before: annLoses, take: func(w *levels) error {
		return errors.Join(w.limit(), annPaysLate(w))
	}},
}

func annLoses(w *levels) error    { return w.lose(w.ann, "k") }
func annPaysLate(w *levels) error { return w.payLate(w.s, w.ann, "k") }
func bobLoses(w *levels) error    { return w.lose(w.bob, "k") }
func bobPaysLate(w *levels) error { return w.payLate(w.s, w.bob, "k") }

// tooLate is what the host does for bob afterwards, and what was done for that before.
type tooLate struct {
	before func(*levels) error
	call   func(*levels, *pgxstore.Store) error
}

var allTooLate = map[string]tooLate{
	"reserves": {call: func(w *levels, s *pgxstore.Store) error {
		_, err := s.Reserve(w.Context(), checkout(w.coupon, w.quote, w.bob, "late", epoch))
		if errors.As(err, new(*coupon.Rejection)) {
			return nil // as it should be
		}
		return err
	}},
	"settles": {call: func(w *levels, s *pgxstore.Store) error { return w.pay(s, w.bob, "late") }},
	"settles what was lost": {
		before: func(w *levels) error { return w.lose(w.bob, "late") },
		call:   func(w *levels, s *pgxstore.Store) error { return w.payLate(s, w.bob, "late") },
	},
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
				for does, late := range allTooLate {
					for counter, check := range last.checks() {
						t.Run(by+", "+does+", "+counter, func(t *testing.T) {
							check(newLevels(t, pool, s, last, late), level, last.take, late.call)
						})
					}
				}
			}
		})
	}
}

// checks are those that the coupon allows. Where it has a limit over all customers, others
// wait for whoever has counted a use.
func (p lastPlace) checks() map[string]func(w *levels, level pgx.TxIsoLevel, take func(*levels) error, call func(*levels, *pgxstore.Store) error) {
	checks := map[string]func(*levels, pgx.TxIsoLevel, func(*levels) error, func(*levels, *pgxstore.Store) error){"at the counter": (*levels).check}
	if p.limits == onceEach {
		checks["beside a counter that is held"] = (*levels).checkBeside
		checks["holding the counter"] = (*levels).checkHolding
	}
	return checks
}

// levels is a coupon of which there is one use, and a host with transactions of its own.
type levels struct {
	*testing.T
	pool           *pgxpool.Pool
	s              *pgxstore.Store
	coupon         coupon.Coupon
	ann, bob, carl string // nobody of another coupon
	quote          pricing.Quote
}

func newLevels(t *testing.T, pool *pgxpool.Pool, s *pgxstore.Store, last lastPlace, late tooLate) *levels {
	t.Helper()
	id := strings.ToLower(rand.Text())
	w := &levels{T: t, pool: pool, s: s, ann: "ann-" + id, bob: "bob-" + id, carl: "carl-" + id, quote: quote(t)}
	w.coupon = newCoupon(t, id, func(c *coupon.Coupon) { c.Limits = last.limits })
	require.NoError(t, s.CreateCoupon(t.Context(), w.coupon))
	for _, before := range []func(*levels) error{late.before, last.before} {
		if before != nil {
			require.NoError(t, before(w))
		}
	}
	return w
}

// check lets a host do something too late, and wants no more than one use within the limit.
func (w *levels) check(level pgx.TxIsoLevel, take func(*levels) error, call func(*levels, *pgxstore.Store) error) {
	w.Helper()
	tx := w.begin(level)
	require.NoError(w, take(w))
	w.end(level, tx, call(w, w.s.WithTx(tx)))
}

// checkBeside is check where somebody holds the counter who takes nothing in the end: the
// others count elsewhere, and the host does not meet them there.
func (w *levels) checkBeside(level pgx.TxIsoLevel, take func(*levels) error, call func(*levels, *pgxstore.Store) error) {
	w.Helper()
	tx, beside := w.begin(level), w.begin(pgx.ReadCommitted)
	w.count(beside)
	require.NoError(w, take(w))
	require.NoError(w, beside.Rollback(w.Context()))
	w.end(level, tx, call(w, w.s.WithTx(tx)))
}

// checkHolding is check where the host has counted a use of another customer before.
func (w *levels) checkHolding(level pgx.TxIsoLevel, take func(*levels) error, call func(*levels, *pgxstore.Store) error) {
	w.Helper()
	tx := w.begin(level)
	w.count(tx)
	require.NoError(w, take(w))
	w.end(level, tx, call(w, w.s.WithTx(tx)))
}

// count lets carl reserve.
func (w *levels) count(tx pgx.Tx) {
	w.Helper()
	_, err := w.s.WithTx(tx).Reserve(w.Context(), checkout(w.coupon, w.quote, w.carl, "k", epoch))
	require.NoError(w, err)
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

// end commits a transaction in which nothing failed, and wants one use within the limit. At
// a stricter level something must have failed.
func (w *levels) end(level pgx.TxIsoLevel, tx pgx.Tx, err error) {
	w.Helper()
	if err != nil {
		require.NoError(w, tx.Rollback(w.Context()))
	} else {
		err = tx.Commit(w.Context())
	}
	var within int
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT count(*) FROM coupon_redemptions
		WHERE coupon_id = $1 AND customer_id <> $2 AND state <> 'released' AND NOT over_limit`, w.coupon.ID, w.carl).Scan(&within))
	require.Equal(w, 1, within)
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

func (w *levels) reserve(customer, key string) error {
	_, err := w.s.Reserve(w.Context(), checkout(w.coupon, w.quote, customer, key, epoch))
	return err
}

// lose lets a customer reserve the use and give it back.
func (w *levels) lose(customer, key string) error {
	if err := w.reserve(customer, key); err != nil {
		return err
	}
	_, err := w.s.Transition(w.Context(), redemption.IDPrefix+customer+"-"+key, redemption.Event{Kind: redemption.Lapsed, At: epoch.Add(2 * time.Hour)})
	return err
}

// payLate is the payment of what was given back.
func (w *levels) payLate(s *pgxstore.Store, customer, key string) error {
	of := customer + "-" + key
	_, err := s.Settle(w.Context(), store.Settlement{
		Event:         redemption.Event{Kind: redemption.SessionCompleted, At: epoch.Add(3 * time.Hour), SessionID: "cs_" + of, OrderID: store.OrderIDPrefix + of},
		ReservationID: redemption.IDPrefix + of,
	})
	return err
}

// pay is a payment without a record.
func (w *levels) pay(s *pgxstore.Store, customer, name string) error {
	id := name + "-" + customer
	_, err := s.Settle(w.Context(), store.Settlement{
		Event:    redemption.Event{Kind: redemption.SessionCompleted, At: epoch, SessionID: "cs_" + id},
		CouponID: w.coupon.ID, CustomerID: customer, NewID: id,
	})
	return err
}
