package main

import (
	"errors"
	"testing"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// TestEveryCall makes a small shop and every call about its records.
func TestEveryCall(t *testing.T) {
	t.Parallel()
	server, err := postgrestest.Start(t.Context())
	if errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	medians, err := measured(t.Context(), server, shop{coupons: 20, uses: 400}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if m := medians[c.name]; m.first <= 0 || m.again <= 0 {
			t.Errorf("%s was not measured", c.name)
		}
	}
}
