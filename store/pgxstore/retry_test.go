package pgxstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestRetryableIsOfTheNamespace: a unique index of the host is not one of the store's because
// its name ends alike, or is the same in another schema or behind another prefix.
func TestRetryableIsOfTheNamespace(t *testing.T) {
	t.Parallel()
	public, shop := pgxstore.Namespace{}, pgxstore.Namespace{Schema: "shop", Prefix: "a_"}
	for name, test := range map[string]struct {
		in             pgxstore.Namespace
		schema, unique string
		want           bool
	}{
		"one customer":               {public, "public", "coupon_redemptions_usage_key", true},
		"one session":                {public, "public", "coupon_redemptions_session_key", true},
		"one key":                    {public, "public", "orders_key_key", true},
		"one order":                  {public, "public", "orders_pkey", true},
		"one order of a namespace":   {shop, "shop", "a_orders_pkey", true},
		"a name that ends alike":     {public, "public", "purchase_orders_pkey", false},
		"another schema":             {public, "sales", "orders_pkey", false},
		"without the prefix":         {shop, "shop", "orders_pkey", false},
		"another prefix":             {shop, "shop", "b_orders_pkey", false},
		"the prefix in another one":  {shop, "public", "a_orders_pkey", false},
		"not of two calls":           {public, "public", "coupons_code_key", false},
		"a constraint without names": {public, "", "", false},
	} {
		s, err := pgxstore.New(nil, pgxstore.Options{Namespace: test.in, Batch: pgxstore.BatchOptions{Off: true}})
		if err != nil {
			t.Fatal(name, err)
		}
		violation := &pgconn.PgError{Code: "23505", SchemaName: test.schema, ConstraintName: test.unique}
		if got := s.Retryable(fmt.Errorf("commit: %w", violation)); got != test.want {
			t.Errorf("%s: %q.%q is retryable: %t", name, test.schema, test.unique, got)
		}
	}
	s := new(pgxstore.Store)
	if !s.Retryable(&pgconn.PgError{Code: "40P01"}) || s.Retryable(context.Canceled) || s.Retryable(nil) {
		t.Error("a deadlock is retryable, and neither a context that has ended nor no error")
	}
}
