package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTwoProcessesReserve runs short turns with the present stores. The other way needs the
// history of the repository, which a clone need not have.
func TestTwoProcessesReserve(t *testing.T) {
	for _, store := range []string{"postgres", "sqlite"} {
		s := settings{
			rounds: 1, duration: 50 * time.Millisecond, clients: []int{4}, processes: 2, coupons: 3, store: store, ways: []string{"after"},
		}
		require.NoError(t, run(t.Context(), s))
	}
}
