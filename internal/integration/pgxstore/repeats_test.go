package pgxstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// cautions notes which batches of reservations ask to be looked for before they are
// stored.
type cautions struct {
	mu  sync.Mutex
	all []bool
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *cautions) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "couponkit_claim_many") {
		c.mu.Lock()
		defer c.mu.Unlock()
		cautious, _ := data.Args[len(data.Args)-1].(bool)
		c.all = append(c.all, cautious)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*cautions) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *cautions) take() (taken []bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, c.all = c.all, nil
	return taken
}

// TestBatchesExpectRepeats: a batch with requests that were stored before answers each as
// a single call does, expected or not; for a while they are expected then.
func TestBatchesExpectRepeats(t *testing.T) {
	t.Parallel()
	var wire conversation
	var asked cautions
	pool := wire.on(t, migrated(t), func(config *pgxpool.Config) { config.ConnConfig.Tracer = &asked })
	s := newStore(t, pool, pgxstore.Options{})
	c := newCoupon(t, "hot", func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 1_000, MaxUsesPerUser: 1} })
	require.NoError(t, s.CreateCoupon(t.Context(), c))

	group := func(name string, known int) {
		t.Helper()
		var customers []*traveller
		for i := range 16 {
			w := &traveller{coupon: c, quote: quote(t), name: fmt.Sprint(name, "-", i)}
			if i < known {
				w.name = fmt.Sprint("first-", i)
			}
			customers = append(customers, w)
		}
		wire.together(t, pool, customers, func(w *traveller) (err error) {
			w.reserved, err = s.Reserve(t.Context(), checkout(w.coupon, w.quote, w.name, "k", epoch))
			return err
		})
		for i, w := range customers {
			if w.reserved.Replayed != (i < known) {
				t.Errorf("%s: replayed is %t", w.name, w.reserved.Replayed)
			}
		}
	}
	group("first", 0)
	group("new", 0)
	if got := asked.take(); len(got) == 0 || slices.Contains(got, true) {
		t.Errorf("without a repeat: %t", got)
	}
	group("unexpected", 4)
	asked.take()
	group("expected", 4)
	if got := asked.take(); len(got) == 0 || slices.Contains(got, false) {
		t.Errorf("after a repeat: %t", got)
	}
	for batches := 0; batches <= 16; batches += len(asked.take()) {
		group(fmt.Sprint("later-", batches), 0)
	}
	group("last", 0)
	if got := asked.take(); len(got) == 0 || slices.Contains(got, true) {
		t.Errorf("a long time after: %t", got)
	}
	page, err := s.ListRedemptions(t.Context(), store.RedemptionList{CouponID: c.ID})
	require.NoError(t, err)
	used, err := s.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, used.ReservedCount, page.Total)
}
