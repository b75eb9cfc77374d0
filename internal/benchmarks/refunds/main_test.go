package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryCall measures a short round. Calls that do not pay or refund an order are errors of it.
func TestEveryCall(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), settings{clients: 4, orders: 12, rounds: 2}, &out)
	if errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, c := range calls {
		require.Contains(t, out.String(), "\n"+c.name)
	}
}
