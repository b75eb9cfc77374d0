package shop_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain requires that a closed shop has left no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
