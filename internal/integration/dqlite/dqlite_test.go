//go:build dqlite && libsqlite3

package dqlite_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestContract runs the suite. Each clause has a database of its own on one cluster.
func TestContract(t *testing.T) {
	c := newCluster(t)
	var made atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return c.store(t, fmt.Sprintf("clause%d.db", made.Add(1)))
	}, storetest.Capabilities{Reopen: func(t *testing.T, s store.Store) store.Store {
		t.Helper()
		return c.store(t, s.(*named).database)
	}})
}

// TestKillingTheLeaderLosesNothing kills the leader twice while customers use a coupon up.
// Exactly the allowed uses succeed, and every acknowledged payment is stored.
func TestKillingTheLeaderLosesNothing(t *testing.T) {
	const uses, callers = 1_000, 8
	ctx, cancel := context.WithTimeout(t.Context(), 4*soon)
	defer cancel()
	c := newCluster(t)
	s := c.store(t, "shop.db")
	b, err := storetest.NewBuyers(ctx, s, uses)
	require.NoError(t, err)
	b.Start(ctx, callers, 2*soon)
	for range 2 {
		require.NoError(t, b.Await(ctx, b.Acknowledged()+uses/5))
		killed := c.leader(t)
		require.Less(t, b.Acknowledged(), uses, "the buyers had finished before the leader was killed")
		killed.kill(t)
		require.NoError(t, b.Await(ctx, b.Acknowledged()+callers+1)) // another leader has answered the last of these calls
		killed.start(t)
	}
	require.NoError(t, b.Check(ctx, s))
}
