package server

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain requires that a service that has ended has left no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
