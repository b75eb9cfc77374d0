package pgxstore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// conversation counts how often a client has said something after it was answered.
type conversation struct{ trips atomic.Int64 }

func (c *conversation) on(tb testing.TB, dsn string) *pgxpool.Pool {
	tb.Helper()
	return postgrestest.NewPool(tb, dsn, func(config *pgxpool.Config) {
		config.MaxConns = 1
		config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &heard{Conn: conn, in: c}, err
		}
	})
}

type heard struct {
	net.Conn

	in     *conversation
	spoken atomic.Bool // and not answered yet
}

func (h *heard) Write(b []byte) (int, error) {
	if !h.spoken.Swap(true) {
		h.in.trips.Add(1)
	}
	return h.Conn.Write(b)
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 {
		h.spoken.Store(false)
	}
	return n, err
}

// statements counts the statements of batches.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { s.n.Add(1) }
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// An order and its uses are read by one statement. Each statement of READ COMMITTED sees another
// instant, and two would see the order before a change and its uses after it.
func TestAnOrderIsReadAtOneInstant(t *testing.T) {
	t.Parallel()
	var traced statements
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(config *pgxpool.Config) { config.ConnConfig.Tracer = &traced })
	s := newStore(t, pool, pgxstore.Options{})
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{}))
	_, err := s.Reserve(t.Context(), checkout(c, quote(t), "ann", "k1"))
	require.NoError(t, err)
	traced.n.Store(0)
	_, err = s.Order(t.Context(), store.OrderKey{ID: "ord_ann-k1"})
	require.NoError(t, err)
	require.Equal(t, int64(1), traced.n.Load())
	page, err := s.ListOrders(t.Context(), store.OrderList{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, int64(2), traced.n.Load())
}

// Reservations and settlements take two round trips, everything that reads takes one.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var c conversation
	s := newStore(t, c.on(t, shared.NewCopy(t)), pgxstore.Options{})
	limited := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 100, MaxUsesPerUser: 2}))
	other := create(t, s, newCoupon(t, "OTHER", coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}))
	free := create(t, s, newCoupon(t, "FREE", coupon.Limits{}))
	q := quote(t)
	ctx := t.Context()
	for _, customer := range []string{"warm", "ann"} { // the first prepares statements
		handed := checkout(other, q, customer, "k2")
		handed.Order.Replaces = "ord_" + customer + "-k1"
		steps := []struct {
			name  string
			trips int64
			call  func() error
		}{
			{"look up by code", 1, func() error {
				_, err := store.Find(ctx, s, store.LookUp{Names: store.ByCode(limited.Code), CustomerID: customer, Identities: []string{customer}, Email: "a@example.org"})
				return err
			}},
			{"reserve", 2, func() error { _, err := s.Reserve(ctx, checkout(limited, q, customer, "k1")); return err }},
			{"reserve again: the key was used", 3, func() error { _, err := s.Reserve(ctx, checkout(limited, q, customer, "k1")); return err }},
			{"attach a session", 2, func() error {
				_, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{
					Kind: redemption.SessionAttached, At: at, OrderID: "ord_" + customer + "-k1", SessionID: "cs_1" + customer,
				}})
				return err
			}},
			{"hand over", 3, func() error { _, err := s.Reserve(ctx, handed); return err }},
			{"refused: no use is left", 3, func() error {
				_, err := s.Reserve(ctx, checkout(other, q, customer+"2", "k3"))
				require.ErrorIs(t, err, store.ErrLimit)
				return nil
			}},
			{"pay", 2, func() error { _, err := s.Apply(ctx, paid("ord_"+customer+"-k2")); return err }},
			{"pay again", 2, func() error { _, err := s.Apply(ctx, paid("ord_"+customer+"-k2")); return err }},
			{"reserve without a limit", 2, func() error { _, err := s.Reserve(ctx, checkout(free, q, customer, "k4")); return err }},
			{"read an order", 1, func() error { _, err := s.Order(ctx, store.OrderKey{ID: "ord_" + customer + "-k1"}); return err }},
			{"list orders", 1, func() error { _, err := s.ListOrders(ctx, store.OrderList{CustomerID: customer}); return err }},
			{"list uses", 1, func() error { _, err := s.ListUses(ctx, store.UseList{CouponID: limited.ID}); return err }},
			{"list coupons", 1, func() error { _, err := s.ListCoupons(ctx, store.CouponList{}); return err }},
			{"read counters", 1, func() error { _, err := s.Counts(ctx, []string{"a", "b"}); return err }},
			{"read the journal", 1, func() error { _, err := s.Journal(ctx, 0, 10); return err }},
		}
		for _, step := range steps {
			before := c.trips.Load()
			require.NoError(t, step.call(), step.name)
			if trips := c.trips.Load() - before; customer == "ann" && trips != step.trips {
				t.Errorf("%s: %d round trips, want %d", step.name, trips, step.trips)
			}
		}
		// the place is another customer's
		_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.EditCoupon, At: at, Coupon: func() coupon.Coupon {
			other.Limits.MaxUses++
			return other
		}()})
		require.NoError(t, err)
		other.Revision++
	}
}
