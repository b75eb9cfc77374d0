package pgxstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// refusing is a database that refuses changes of orders.
type refusing struct {
	*testing.T

	pool   *pgxpool.Pool
	store  *pgxstore.Store
	coupon coupon.Coupon
	order  store.Order // without a session
}

// newRefusing has a trigger that counts the attempts: a sequence is not rolled back.
func newRefusing(t *testing.T, options pgxstore.Options) *refusing {
	t.Helper()
	w := &refusing{T: t, pool: newDatabase(t, pgxstore.Namespace{}), coupon: newCoupon(t, "retry")}
	w.store = newStore(t, w.pool, options)
	require.NoError(t, w.store.CreateCoupon(t.Context(), w.coupon))
	_, err := w.pool.Exec(t.Context(), `
		CREATE SEQUENCE attempts;
		CREATE TABLE refusals (times bigint, code text, schema text, violated text);
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE
			r refusals;
		BEGIN
			SELECT * INTO r FROM refusals;
			IF nextval('attempts') <= r.times THEN
				RAISE EXCEPTION 'refused' USING ERRCODE = r.code, SCHEMA = r.schema, CONSTRAINT = r.violated;
			END IF;
			RETURN new;
		END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)
	w.refuse(0, "", "")
	return w
}

// refuse makes an order, whose next changes fail so many times with the code, as if the
// constraint were violated, which is in the schema of the store unless it names another.
func (w *refusing) refuse(times int, code, constraint string) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), `ALTER SEQUENCE attempts RESTART; TRUNCATE refusals`)
	require.NoError(w, err)
	schema, name, found := strings.Cut(constraint, ".")
	if !found {
		schema, name = pgxstore.DefaultSchema, constraint
	}
	_, err = w.pool.Exec(w.Context(), `INSERT INTO refusals VALUES ($1, $2, $3, $4)`, times, code, schema, name)
	require.NoError(w, err)
	kept, err := w.store.Reserve(w.Context(), checkout(w.coupon, quote(w.T), "ann", rand.Text(), epoch))
	require.NoError(w, err)
	w.order = kept.Order
}

func (w *refusing) attempts() (n int) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM attempts`).Scan(&n))
	return n
}

func (w *refusing) attach(ctx context.Context, in *pgxstore.Store) error {
	_, err := in.AttachSession(ctx, store.Attachment{OrderID: w.order.ID, SessionID: "cs_" + w.order.ID, Deadline: epoch.Add(time.Hour), At: epoch})
	return err
}

// TestRetries: what PostgreSQL says may help when it is run again is run again, and
// nothing else is.
func TestRetries(t *testing.T) {
	t.Parallel()
	const times, most = 3, 10
	refusals := map[string]struct {
		code, constraint string
		again            bool
	}{
		"serialisation failure":              {code: "40001", again: true},
		"deadlock":                           {code: "40P01", again: true},
		"two calls of one session":           {code: "23505", constraint: "coupon_redemptions_session_key", again: true},
		"two calls of one customer":          {code: "23505", constraint: "coupon_redemptions_usage_key", again: true},
		"two calls with one key":             {code: "23505", constraint: "orders_key_key", again: true},
		"two calls of one order":             {code: "23505", constraint: "orders_pkey", again: true},
		"a unique constraint of the host":    {code: "23505", constraint: "invoices_number_key"},
		"one of the host that ends alike":    {code: "23505", constraint: "purchase_orders_pkey"},
		"one of the host's schema":           {code: "23505", constraint: "sales.orders_pkey"},
		"a unique constraint without a name": {code: "23505"},
		"a check":                            {code: "23514", constraint: "orders_pkey"},
		"a foreign key":                      {code: "23503", constraint: "orders_pkey"},
		"a lock that is not to be had":       {code: "55P03"},
		"a statement that was cancelled":     {code: "57014"},
		"a server that shuts down":           {code: "57P01"},
		"a transaction that was rolled back": {code: "40000"},
		"a commit of unknown outcome":        {code: "40003"},
		"no space":                           {code: "53100"},
		"a fault of the server":              {code: "XX000"},
	}
	for way, options := range map[string]pgxstore.Options{"batched": {}, "one by one": {Batch: pgxstore.BatchOptions{Off: true}}} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newRefusing(t, options)
			for name, of := range refusals {
				w.refuse(times, of.code, of.constraint)
				err := w.attach(t.Context(), w.store)
				if of.again {
					require.NoError(t, err, name)
					require.Equal(t, times+1, w.attempts(), "attempts: %s", name)
					continue
				}
				var server *pgconn.PgError
				require.ErrorAs(t, err, &server, name)
				require.Equal(t, of.code, server.Code, name)
				require.Equal(t, 1, w.attempts(), "attempts: %s", name)
			}
		})
	}
	t.Run("not for ever", func(t *testing.T) {
		t.Parallel()
		w := newRefusing(t, pgxstore.Options{})
		w.refuse(1_000, "40001", "")
		require.True(t, again(w.attach(t.Context(), w.store)))
		require.Equal(t, most, w.attempts(), "attempts")
	})
	t.Run("not after the caller has left", func(t *testing.T) {
		t.Parallel()
		w := newRefusing(t, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}})
		w.refuse(1_000, "40001", "")
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer leave()
		require.ErrorIs(t, w.attach(ctx, w.store), context.DeadlineExceeded)
		require.Less(t, w.attempts(), most, "attempts")
	})
	t.Run("not in a transaction of the host", func(t *testing.T) {
		t.Parallel()
		w := newRefusing(t, pgxstore.Options{})
		for name, of := range refusals {
			w.refuse(times, of.code, of.constraint)
			err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return w.attach(t.Context(), w.store.WithTx(tx)) })
			require.Error(t, err, name)
			require.Equal(t, of.again, w.store.Retryable(err), "%s: %v", name, err)
			require.Equal(t, 1, w.attempts(), "attempts: %s", name)
		}
		require.False(t, w.store.Retryable(nil))
	})
}

// TestLostConnections: a call whose connection is lost before anything was sent is made on
// another; one that may have been carried out is not made again.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		after bool
		again bool
	}{"before it is sent": {again: true}, "after it was sent": {after: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRefusing(t, pgxstore.Options{})
			var lose, lost atomic.Bool
			fragile := postgrestest.NewPool(t, w.pool.Config().ConnString(), func(c *pgxpool.Config) {
				c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					return &fragileConn{Conn: conn, after: of.after, lose: &lose, lost: &lost}, err
				}
			})
			s := newStore(t, fragile, pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec})
			require.NoError(t, fragile.Ping(t.Context()))
			lose.Store(true)
			err := w.attach(t.Context(), s)
			require.True(t, lost.Load())
			if of.again {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errLost)
			}
			require.LessOrEqual(t, w.attempts(), 1, "attempts")
			require.NoError(t, w.attach(t.Context(), s), "the caller may ask again")
		})
	}
}

var errLost = errors.New("the connection is lost")

// fragileConn is lost, once, with the next that is written.
type fragileConn struct {
	net.Conn

	after      bool
	lose, lost *atomic.Bool
}

func (c *fragileConn) Write(b []byte) (int, error) {
	if !c.after && c.lose.CompareAndSwap(true, false) {
		c.lost.Store(true)
		return 0, errLost
	}
	return c.Conn.Write(b)
}

func (c *fragileConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.after && n > 0 && c.lose.CompareAndSwap(true, false) {
		c.lost.Store(true)
		return 0, errLost
	}
	return n, err
}
