package pgxstore_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
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
			ctx, cancel := patience.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			b, err := storetest.NewBuyers(ctx, s, uses)
			require.NoError(t, err)
			b.Start(ctx, callers, 2*time.Second)
			require.NoError(t, b.Await(ctx, before))
			fault.take(t, c)
			c.failOver(t)
			promoted, acknowledged := time.Now(), b.Acknowledged()
			require.NoError(t, b.Await(ctx, acknowledged+1))
			t.Logf("first answer %v after the promotion", time.Since(promoted).Round(time.Millisecond))
			require.NoError(t, b.Check(ctx, s))
			fault.back(t, c)
			refuses(t, c.primary)
			require.NoError(t, b.Check(ctx, s))
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

// refuses checks that a server without a standby acknowledges no call.
func refuses(t *testing.T, old *postgrestest.Server) {
	t.Helper()
	s, c := storeAt(t, old.Address(), old), newCoupon(t, "LATE", coupon.Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, Unlimited: true, At: at})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func hostPort(t *testing.T, address string) (string, uint16) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := strconv.ParseUint(text, 10, 16)
	require.NoError(t, err)
	return host, uint16(port)
}
