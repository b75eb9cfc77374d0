package stripemock_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain requires that the adapter, whose own module has no goleak so that hosts do
// not inherit it, leaves no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
