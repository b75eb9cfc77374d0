package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// cluster is a primary that commits when one of its two standbys has the log, and the address at
// which callers find whoever is the primary.
type cluster struct {
	primary, north, south *postgrestest.Server
	network               *postgrestest.Forwarder // from the standbys to the primary
	front                 *postgrestest.Forwarder
}

// TestFailover takes the primary away while calls are under way, promotes the standby that has more
// of the log, and lets the old primary come back: what was acknowledged is there, nothing is
// oversold, and the old primary acknowledges nothing any more.
func TestFailover(t *testing.T) {
	const uses, callers, before = 300, 8, 100
	for name, fault := range map[string]struct {
		take, back func(*testing.T, *cluster)
	}{
		"killed": {
			func(t *testing.T, c *cluster) { t.Helper(); require.NoError(t, c.primary.Halt()) },
			func(t *testing.T, c *cluster) { t.Helper(); require.NoError(t, c.primary.Resume(t.Context())) },
		},
		"paused": {
			func(t *testing.T, c *cluster) { t.Helper(); require.NoError(t, c.primary.Signal(syscall.SIGSTOP)) },
			func(t *testing.T, c *cluster) { t.Helper(); require.NoError(t, c.primary.Signal(syscall.SIGCONT)) },
		},
		"partitioned": {
			func(_ *testing.T, c *cluster) { c.network.Switch("") },
			func(_ *testing.T, c *cluster) { c.network.Switch(c.primary.Address()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			s := storeAt(t, c.front.Address(), c.primary)
			limited := create(t, s, newCoupon(t, "HOT", coupon.Limits{MaxUses: uses}))
			w := &buyers{coupon: limited, store: s, acknowledged: map[string]bool{}, enough: make(chan struct{}), before: before}
			var running sync.WaitGroup
			for range callers {
				running.Go(func() { w.buy(t) })
			}
			<-w.enough
			fault.take(t, c)
			c.failOver(t)
			w.promoted.Store(time.Now().UnixNano())
			running.Wait()
			t.Logf("first answer %v after the promotion", time.Duration(w.first.Load()-w.promoted.Load()).Round(time.Millisecond))
			fault.back(t, c)
			refuses(t, c.primary, limited)

			counts, err := s.Counts(t.Context(), []string{redemption.CouponUses(limited.ID)})
			require.NoError(t, err)
			require.Equal(t, []redemption.Count{{Completed: uses}}, counts)
			for id := range w.acknowledged {
				found, err := s.Order(t.Context(), store.OrderKey{ID: id})
				require.NoError(t, err, "%s was acknowledged", id)
				require.Equal(t, redemption.OrderPaid, found.Order.State)
			}
			require.NoError(t, storetest.Check(t.Context(), s))
		})
	}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	primary, err := postgrestest.Start(t.Context(), "synchronous_standby_names=ANY 1 (north, south)")
	if errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Close()) })
	if primary.Foreign() {
		t.Skip(postgrestest.ErrForeign)
	}
	c := &cluster{primary: primary, network: forwarder(t, primary), front: forwarder(t, primary)}
	for name, standby := range map[string]**postgrestest.Server{"north": &c.north, "south": &c.south} {
		*standby, err = primary.Standby(t.Context(), name, c.network.Address())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, (*standby).Close()) })
	}
	pool := postgrestest.NewPool(t, primary.DSN())
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, pgxstore.Options{}))
	return c
}

func forwarder(t *testing.T, s *postgrestest.Server) *postgrestest.Forwarder {
	t.Helper()
	f, err := postgrestest.NewForwarder(t.Context(), s.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// failOver promotes the standby that has more of the log, lets the other follow it, and sends
// callers there.
func (c *cluster) failOver(t *testing.T) {
	t.Helper()
	north, err := c.north.Received(t.Context())
	require.NoError(t, err)
	south, err := c.south.Received(t.Context())
	require.NoError(t, err)
	promoted, other := c.north, c.south
	if south > north {
		promoted, other = c.south, c.north
	}
	require.NoError(t, promoted.Promote(t.Context()))
	require.NoError(t, other.Follow(t.Context(), promoted, "other"))
	c.front.Switch(promoted.Address())
}

// storeAt returns a store on the server, which is reached at the address.
func storeAt(t *testing.T, address string, s *postgrestest.Server) *pgxstore.Store {
	t.Helper()
	pool := postgrestest.NewPool(t, s.DSN(), func(config *pgxpool.Config) {
		host, port := hostPort(t, address)
		config.ConnConfig.Host, config.ConnConfig.Port = host, port
		config.ConnConfig.Fallbacks = nil
		config.ConnConfig.ConnectTimeout = time.Second
	})
	return newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Timeout: 2 * time.Second}})
}

// buyers use a coupon up. Calls that fail are repeated with the same key until they are answered.
type buyers struct {
	coupon          coupon.Coupon
	store           store.Store
	next            atomic.Int64
	before          int
	enough          chan struct{} // closed when so many orders were acknowledged
	promoted, first atomic.Int64  // when, and the first answer after it

	mu           sync.Mutex
	acknowledged map[string]bool
}

func (w *buyers) buy(t *testing.T) {
	t.Helper()
	ctx, cancel := patience.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		r := checkout(w.coupon, quote(t), fmt.Sprint("customer-", w.next.Add(1)), "k")
		err := w.answered(ctx, func(ctx context.Context) error { _, err := w.store.Reserve(ctx, r); return err })
		if err == nil {
			err = w.answered(ctx, func(ctx context.Context) error { _, err := w.store.Apply(ctx, paid(r.Order.ID)); return err })
		}
		switch {
		case errors.Is(err, store.ErrLimit):
			return
		case err != nil:
			t.Errorf("%s: %v", r.Order.ID, err)
			return
		}
		w.acknowledge(r.Order.ID)
	}
}

func (w *buyers) acknowledge(id string) {
	if w.promoted.Load() != 0 {
		w.first.CompareAndSwap(0, time.Now().UnixNano())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged[id] = true
	if len(w.acknowledged) == w.before {
		close(w.enough)
	}
}

// answered repeats a call until the store has decided.
func (w *buyers) answered(ctx context.Context, call func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := call(attempt)
		cancel()
		if err == nil || errors.Is(err, store.ErrLimit) || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// refuses calls the server for a while: it has no standby any more, and acknowledges nothing.
func refuses(t *testing.T, old *postgrestest.Server, c coupon.Coupon) {
	t.Helper()
	s := storeAt(t, old.Address(), old)
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Reserve(ctx, checkout(c, quote(t), fmt.Sprint("late-", i), "k"))
		cancel()
		require.Error(t, err)
		require.NotErrorIs(t, err, store.ErrLimit) // that would be an answer
	}
}

func hostPort(t *testing.T, address string) (string, uint16) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.ParseUint(text, 10, 16)
	require.NoError(t, err)
	return host, uint16(port)
}
