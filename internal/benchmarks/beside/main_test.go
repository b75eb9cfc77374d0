package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBothWaysReserve runs one short turn of each way.
func TestBothWaysReserve(t *testing.T) {
	s := settings{rounds: 1, duration: 50 * time.Millisecond, clients: []int{2}}
	require.NoError(t, run(t.Context(), s, true, ""))
}
