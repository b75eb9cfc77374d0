package pgxstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// A purchase, its refusals and a late payment are as in memory: with prepared statements,
// without, in a transaction of the host, and behind a proxy.
func TestAPurchase(t *testing.T) {
	t.Parallel()
	t.Run("prepared", func(t *testing.T) {
		pool := postgrestest.NewPool(t, shared.NewCopy(t))
		purchase(t, newStore(t, pool, pgxstore.Options{}))
	})
	t.Run("unprepared", func(t *testing.T) {
		pool := postgrestest.NewPool(t, shared.NewCopy(t), func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		})
		purchase(t, newStore(t, pool, pgxstore.Options{}))
	})
	t.Run("behind a proxy", func(t *testing.T) {
		purchase(t, newStore(t, behindProxy(t, shared.NewCopy(t)), pgxstore.Options{}))
	})
	within := func(t *testing.T, pool *pgxpool.Pool) {
		t.Helper()
		s := newStore(t, pool, pgxstore.Options{})
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			purchase(t, s.WithTx(tx))
			return nil
		}))
		entries, err := s.Journal(t.Context(), 0, 100)
		require.NoError(t, err)
		require.NotEmpty(t, entries)
	}
	t.Run("in a transaction of the host", func(t *testing.T) {
		within(t, postgrestest.NewPool(t, shared.NewCopy(t)))
	})
	t.Run("in a transaction of the host behind a proxy", func(t *testing.T) {
		within(t, behindProxy(t, shared.NewCopy(t)))
	})
}

func purchase(t *testing.T, s store.Store) {
	t.Helper()
	reference := memstore.New()
	c := newCoupon(t, "TEN", coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1})
	q := quote(t)
	handed := checkout(c, q, "ann", "5")
	handed.Order.Replaces = redemption.OrderIDPrefix + "ann-1"
	imports := func(first, count int) func(store.Store) (any, error) {
		return func(s store.Store) (any, error) {
			known, err := s.SaveCodes(t.Context(), importOf(c.ID, first, count))
			return len(known), err
		}
	}
	calls := []func(s store.Store) (any, error){
		func(s store.Store) (any, error) {
			return s.SaveCoupon(t.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: at, By: "admin"})
		},
		imports(0, 300), // by a COPY
		imports(290, 20),
		imports(290, 300),
		func(s store.Store) (any, error) {
			page, err := s.ListCodes(t.Context(), store.CodeList{CouponID: c.ID, PageSize: coupon.MaxCodes})
			return len(page.Items), err
		},
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), checkout(c, q, "ann", "1")) },
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), checkout(c, q, "ann", "1")) },
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), checkout(c, q, "ann", "2")) },
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), checkout(c, q, "bob", "3")) },
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), checkout(c, q, "cid", "4")) },
		func(s store.Store) (any, error) { return s.Reserve(t.Context(), handed) },
		func(s store.Store) (any, error) { return s.Apply(t.Context(), paid("ord_ann-1")) },
		func(s store.Store) (any, error) { return s.Apply(t.Context(), paid("ord_ann-5")) },
		func(s store.Store) (any, error) { return s.Apply(t.Context(), paid("ord_nobody")) },
		func(s store.Store) (any, error) {
			return store.Find(t.Context(), s, store.LookUp{Names: store.ByCode(c.Code), CustomerID: "ann", Identities: []string{"bob", "ann", "a/b"}})
		},
		func(s store.Store) (any, error) {
			return s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID), "none", eligibility.CustomerOrders("ann")})
		},
		func(s store.Store) (any, error) { return s.ListOrders(t.Context(), store.OrderList{PageSize: 2}) },
		func(s store.Store) (any, error) { return s.ListUses(t.Context(), store.UseList{CouponID: c.ID}) },
		func(s store.Store) (any, error) { return s.ListCoupons(t.Context(), store.CouponList{Search: "en"}) },
		func(s store.Store) (any, error) {
			return s.Order(t.Context(), store.OrderKey{SessionID: "cs_ord_ann-1"})
		},
		func(s store.Store) (any, error) {
			return s.Order(t.Context(), store.OrderKey{CustomerID: "bob", Key: "3"})
		},
		func(s store.Store) (any, error) { return s.Journal(t.Context(), 0, 100) },
		func(s store.Store) (any, error) {
			return s.SaveCoupon(t.Context(), store.CouponChange{Kind: store.DeleteCoupon, Coupon: c, At: at})
		},
	}
	for i, call := range calls {
		want, wantErr := call(reference)
		got, err := call(s)
		require.Equal(t, wantErr, err, "call %d", i)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("call %d (-memory +PostgreSQL):\n%s", i, diff)
		}
	}
}
