package pgxstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/host"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// conversation counts the round trips of a pool's only connection: how often the client
// has said something after it was answered.
type conversation struct{ trips atomic.Int64 }

// on is a pool whose only connection is listened to.
func (c *conversation) on(tb testing.TB, dsn string, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	return postgrestest.NewPool(tb, dsn, append(configure, func(config *pgxpool.Config) {
		config.MaxConns = 1
		config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &heard{Conn: conn, in: c}, err
		}
	})...)
}

// during returns how many round trips a call takes.
func (c *conversation) during(call func() error) (int, error) {
	before := c.trips.Load()
	err := call()
	return int(c.trips.Load() - before), err
}

type heard struct {
	net.Conn

	in     *conversation
	spoken atomic.Bool // and not been answered yet
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

// trip is something that a checkout asks of a store.
type trip struct {
	name string
	call func(ctx context.Context, s store.Store, w *traveller) error
}

// traveller is a customer, and what he has reserved last.
type traveller struct {
	coupon coupon.Coupon
	quote  pricing.Quote
	name   string

	reserved store.Reserved
}

func (w *traveller) event(kind redemption.EventKind) store.Settlement {
	r, o := w.reserved.Redemption, w.reserved.Order
	return store.Settlement{
		Event:         redemption.Event{Kind: kind, At: epoch.Add(time.Minute), SessionID: "cs_" + o.ID, OrderID: o.ID},
		ReservationID: r.ID, CouponID: r.CouponID, CustomerID: r.CustomerID, NewID: redemption.IDPrefix + "new-" + w.name,
	}
}

// trips are what a checkout asks of the store, in order.
func trips() []trip {
	return []trip{
		{"look up by code", func(ctx context.Context, s store.Store, w *traveller) error {
			_, err := s.LookUp(ctx, store.LookUp{Code: w.coupon.Code, CustomerID: w.name, Email: w.name + "@example.org"})
			return err
		}},
		{"reserve", func(ctx context.Context, s store.Store, w *traveller) (err error) {
			w.reserved, err = s.Reserve(ctx, checkout(w.coupon, w.quote, w.name, "k", epoch))
			return err
		}},
		{"look up by ID what the customer holds", func(ctx context.Context, s store.Store, w *traveller) error {
			found, err := s.LookUp(ctx, store.LookUp{CouponID: w.coupon.ID, CustomerID: w.name})
			if err == nil && len(found.Held) != 1 {
				err = fmt.Errorf("%d reservations are held", len(found.Held))
			}
			return err
		}},
		{"attach", func(ctx context.Context, s store.Store, w *traveller) error {
			o := w.reserved.Order
			_, err := s.AttachSession(ctx, store.Attachment{OrderID: o.ID, SessionID: "cs_" + o.ID, Deadline: epoch.Add(time.Hour), At: epoch})
			return err
		}},
		{"take over", func(ctx context.Context, s store.Store, w *traveller) (err error) {
			over := store.TakeOver{
				ReservationID: w.reserved.Redemption.ID, FromSessionID: "cs_" + w.reserved.Order.ID,
				Order: w.reserved.Order.Clone(), Deadline: epoch.Add(time.Hour), At: epoch,
			}
			over.Order.ID, over.Order.Key = over.Order.ID+"-2", "k2"
			w.reserved, err = s.TakeOver(ctx, over)
			return err
		}},
		{"attach to the second order", func(ctx context.Context, s store.Store, w *traveller) error {
			o := w.reserved.Order
			_, err := s.AttachSession(ctx, store.Attachment{OrderID: o.ID, SessionID: "cs_" + o.ID, Deadline: epoch.Add(time.Hour), At: epoch})
			return err
		}},
		{"complete", func(ctx context.Context, s store.Store, w *traveller) error {
			settled, err := s.Settle(ctx, w.event(redemption.SessionCompleted))
			if err == nil && settled.Redemption.State != redemption.Completed {
				err = fmt.Errorf("it is %s", settled.Redemption.State)
			}
			return err
		}},
		{"complete again", func(ctx context.Context, s store.Store, w *traveller) error {
			_, err := s.Settle(ctx, w.event(redemption.SessionCompleted))
			return err
		}},
		{"reserve another time, to cancel", func(ctx context.Context, s store.Store, w *traveller) (err error) {
			w.reserved, err = s.Reserve(ctx, checkout(w.coupon, w.quote, w.name, "cancelled", epoch))
			return err
		}},
		{"cancel", func(ctx context.Context, s store.Store, w *traveller) error {
			_, err := s.Transition(ctx, w.reserved.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: epoch})
			return err
		}},
	}
}

// TestOneRoundTrip: a look-up, a reservation, a payment and everything else in a checkout
// is one round trip each, in a transaction of the host too. Where statements are prepared
// the first of its kind is one more, of a connection; reservations in transactions of the
// store's own are of two kinds, by what they expect.
func TestOneRoundTrip(t *testing.T) {
	t.Parallel()
	dsn := shared.NewCopy(t)
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited": {MaxUses: 100, MaxUsesPerUser: 2}} {
		for way, options := range map[string]pgxstore.Options{
			"batched": {}, "one by one": {Batch: pgxstore.BatchOptions{Off: true}},
			"nothing prepared": {QueryExecMode: pgx.QueryExecModeExec},
		} {
			for place, inTx := range map[string]bool{"own transactions": false, "a transaction of the host": true} {
				t.Run(name+"/"+way+"/"+place, func(t *testing.T) {
					t.Parallel()
					oneRoundTrip(t, dsn, limits, options, inTx)
				})
			}
		}
	}
}

func oneRoundTrip(t *testing.T, dsn string, limits coupon.Limits, options pgxstore.Options, inTx bool) {
	t.Helper()
	var wire conversation
	pool := wire.on(t, dsn)
	s := newStore(t, pool, options)
	c := newCoupon(t, rand.Text(), func(c *coupon.Coupon) { c.Limits = limits })
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	if inTx {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Commit(t.Context())) }()
		s = s.WithTx(tx)
	}
	for i := range 3 {
		w := &traveller{coupon: c, quote: quote(t), name: fmt.Sprint(c.ID, "-", i)}
		for _, step := range trips() {
			most := 1
			// The second use of the first customer was not expected, which the next reservation knows.
			another := i == 1 && step.name == "reserve" && limits.MaxUses > 0 && !inTx
			if (i == 0 || another) && options.QueryExecMode == 0 {
				most = 2
			}
			count, err := wire.during(func() error { return step.call(t.Context(), s, w) })
			require.NoError(t, err, step.name)
			if count < 1 || count > most {
				t.Errorf("%q of customer %d took %d round trips, want at most %d", step.name, i, count, most)
			}
		}
	}
}

// batchSizes are those of the batches that were reported.
type batchSizes struct {
	mu    sync.Mutex
	sizes []int
}

func (b *batchSizes) note(r pgxstore.BatchReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes = append(b.sizes, r.Size)
}

// take returns the batches of so many calls, once all are reported, which is after they
// were answered.
func (b *batchSizes) take(t *testing.T, calls int) (taken []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		reported := 0
		for _, size := range b.sizes {
			reported += size
		}
		if reported == calls {
			taken, b.sizes = b.sizes, nil
		}
		return reported == calls
	}, time.Minute, time.Millisecond)
	return taken
}

// TestABatchIsOneRoundTrip: calls that wait for a connection together are sent together,
// and there are as many round trips as batches.
func TestABatchIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	dsn := shared.NewCopy(t)
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited": {MaxUses: 100, MaxUsesPerUser: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wire conversation
			var batches batchSizes
			pool := wire.on(t, dsn)
			s := newStore(t, pool, pgxstore.Options{
				QueryExecMode: pgx.QueryExecModeExec, Batch: pgxstore.BatchOptions{OnBatch: batches.note},
			})
			c := newCoupon(t, rand.Text(), func(c *coupon.Coupon) { c.Limits = limits })
			require.NoError(t, s.CreateCoupon(t.Context(), c))
			customers := make([]*traveller, 16)
			for i := range customers {
				customers[i] = &traveller{coupon: c, quote: quote(t), name: fmt.Sprint(c.ID, "-", i)}
			}
			for _, step := range trips() {
				if !slices.Contains([]string{"reserve", "attach", "complete"}, step.name) {
					continue
				}
				count := wire.together(t, pool, customers, func(w *traveller) error { return step.call(t.Context(), s, w) })
				if sizes := batches.take(t, len(customers)); count != len(sizes) || slices.Max(sizes) == 1 {
					t.Errorf("%q of %d customers took %d round trips in batches of %v", step.name, len(customers), count, sizes)
				}
			}
		})
	}
}

// together lets all customers call while the connection is taken, and returns how many
// round trips it took them once it is free.
func (c *conversation) together(t *testing.T, pool *pgxpool.Pool, customers []*traveller, call func(*traveller) error) int {
	t.Helper()
	held, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	var all errgroup.Group
	for _, w := range customers {
		all.Go(func() error { return call(w) })
	}
	time.Sleep(50 * time.Millisecond) // most of them wait by then
	count, err := c.during(func() error {
		held.Release()
		return all.Wait()
	})
	require.NoError(t, err)
	return count
}

// TestValidateIsOneRoundTrip: what a customer asks before he has a cart is one read,
// whatever the coupon restricts.
func TestValidateIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	var wire conversation
	s := newStore(t, wire.on(t, shared.NewCopy(t)), pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec})
	ann := eligibility.Customer{ID: "ann", Email: "ann@example.org"}
	service, err := couponkit.New(s, fakeprocessor.New(fakeprocessor.Options{}), couponkit.WithUsers(host.Directory{ann.ID: {ID: ann.ID, Email: ann.Email}}))
	require.NoError(t, err)
	draft := coupon.Draft{
		Code: "ALL", Name: "All at once", DiscountType: pricing.Percentage, DiscountValue: ten,
		MaxUses: coupon.Set[int64](100), MaxUsesPerUser: coupon.Set[int64](1),
	}
	created, err := service.Create(t.Context(), draft)
	require.NoError(t, err)
	for _, codeOrID := range []string{"all", created.ID} {
		count, err := wire.during(func() error {
			_, err := service.Validate(t.Context(), couponkit.ValidateRequest{Code: codeOrID, Customer: ann})
			return err
		})
		require.NoError(t, err)
		require.Equal(t, 1, count, codeOrID)
	}
}

// TestUnlimitedCouponsDoNotWait: where a coupon has no limit over all customers, whole
// checkouts in open transactions of hosts keep nobody from reserving, paying, cancelling
// or from validating. Of one with such a limit, they do.
func TestUnlimitedCouponsDoNotWait(t *testing.T) {
	t.Parallel()
	const open = 20
	dsn := shared.NewCopy(t)
	for name, of := range map[string]struct {
		limits coupon.Limits
		waits  bool
	}{
		"unlimited": {}, "limited per customer": {limits: coupon.Limits{MaxUsesPerUser: 2}},
		"limited": {limits: coupon.Limits{MaxUses: 1_000}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := postgrestest.NewPool(t, dsn, func(c *pgxpool.Config) {
				c.MaxConns = open + 4
				c.ConnConfig.RuntimeParams["lock_timeout"] = "10s" // for the first whom somebody keeps waiting
				if of.waits {
					c.ConnConfig.RuntimeParams["lock_timeout"] = "500ms"
				}
			})
			c := newCoupon(t, rand.Text(), func(c *coupon.Coupon) { c.Limits = of.limits })
			s := newStore(t, pool, pgxstore.Options{})
			require.NoError(t, s.CreateCoupon(t.Context(), c))
			travel := func(s store.Store, name string) error {
				w := &traveller{coupon: c, quote: quote(t), name: c.ID + name}
				for _, step := range trips() {
					if err := step.call(t.Context(), s, w); err != nil {
						return fmt.Errorf("%s: %s: %w", name, step.name, err)
					}
				}
				return nil
			}
			hosts := open
			if of.waits {
				hosts = 1
			}
			var waiting []pgx.Tx
			for i := range hosts {
				tx, err := pool.Begin(t.Context())
				require.NoError(t, err)
				waiting = append(waiting, tx)
				require.NoError(t, travel(s.WithTx(tx), fmt.Sprint("host-", i)))
			}
			err := travel(s, "alone")
			if of.waits {
				var server *pgconn.PgError
				require.ErrorAs(t, err, &server)
				require.Equal(t, "55P03", server.Code, "lock_not_available")
			} else {
				require.NoError(t, err)
				var all errgroup.Group
				for i := range 32 {
					all.Go(func() error { return travel(s, fmt.Sprint("beside-", i)) })
				}
				require.NoError(t, all.Wait())
			}
			for _, tx := range waiting {
				require.NoError(t, tx.Commit(t.Context()))
			}
		})
	}
	t.Cleanup(func() { // after all of them
		s := newStore(t, postgrestest.NewPool(t, dsn), pgxstore.Options{})
		require.NoError(t, storetest.CheckInvariants(context.WithoutCancel(t.Context()), s))
	})
}
