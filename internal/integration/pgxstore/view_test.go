package pgxstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestClosingAView: a view ends with its transaction, and a host that closes what it has
// opened closes no more than that. The store with all its views is another matter.
func TestClosingAView(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	s := newStore(t, pool, pgxstore.Options{})
	c := newCoupon(t, "shared")
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()

	view, other := s.WithTx(tx), s.WithTx(tx)
	require.NoError(t, view.Close())
	require.NoError(t, view.Close())
	_, err = view.Coupon(t.Context(), c.ID)
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Reserve(t.Context(), checkout(c, quote(t), "ann", "k", epoch))
	require.NoError(t, err, "the store, in a batch")
	_, err = other.Coupon(t.Context(), c.ID)
	require.NoError(t, err, "another view")

	require.NoError(t, s.Close())
	_, err = other.Coupon(t.Context(), c.ID)
	require.ErrorIs(t, err, store.ErrClosed)
}
