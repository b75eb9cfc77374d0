package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryRow runs all measurements with few codes.
func TestEveryRow(t *testing.T) {
	require.NoError(t, run(t.Context(), settings{
		rows: []string{"store", "look", "redeem", "switch", "sqlite"}, rounds: 2,
		codes: 4_000, small: 10, large: 2_000, lookUps: 20, switched: 1_500, clients: 4, duration: 50 * time.Millisecond,
	}))
}
